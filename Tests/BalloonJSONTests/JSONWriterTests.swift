import BalloonJSON
import Testing

/// What the writer puts out.
struct JSONWriterTests {
    @Test func `commas stand between members and elements, and nowhere else`() {
        var writer = JSONWriter()
        writer.object { writer in
            writer.field("a", 1)
            writer.key("b")
            writer.array { writer in
                writer.int(1)
                writer.array { _ in }
                writer.object { _ in }
                writer.null()
                writer.raw("[ 2 ]".utf8)
                writer.string("x")
            }
            writer.key("c")
            writer.object { $0.field("d", true) }
            writer.field("e", "f")
        }
        #expect(
            String(decoding: writer.finish(), as: UTF8.self)
                == #"{"a":1,"b":[1,[],{},null,[ 2 ],"x"],"c":{"d":true},"e":"f"}"#)
    }

    @Test func `only what must be escaped is escaped`() throws {
        let text =
            String(String.UnicodeScalarView((0..<0x80).compactMap(Unicode.Scalar.init))) + "/\u{e9}😀\u{2028}"
        var writer = JSONWriter()
        writer.string(text)
        let bytes = writer.finish()
        #expect(try JSONDocument(bytes).root.string == text)
        let head = #""\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000b\f\r\u000e\u000f\u0010"#
        #expect(bytes.starts(with: head.utf8))
        #expect(bytes.filter { $0 == UInt8(ascii: "\\") }.count == 32 + 3)
    }
}
