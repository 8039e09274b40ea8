import BalloonJSON
import TestSupport
import Testing

/// The output of the writer.
struct JSONWriterTests {
    @Test func `a writer appends to the given bytes`() {
        var writer = JSONWriter(appendingTo: Array("before\n".utf8))
        writer.object { writer in
            writer.key("a")
            writer.raw { $0 += "[1]".utf8 }
            writer.field("b", 2)
        }
        #expect(writer.finish() == Array("before\n{\"a\":[1],\"b\":2}".utf8))
    }

    @Test func `commas stand between members and elements, and nowhere else`() {
        let text = write { writer in
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
        }
        #expect(text == #"{"a":1,"b":[1,[],{},null,[ 2 ],"x"],"c":{"d":true},"e":"f"}"#)
    }

    @Test func `the writer escapes only characters that must be escaped`() throws {
        let ascii = String(String.UnicodeScalarView((0..<0x80).compactMap(Unicode.Scalar.init)))
        let text = ascii + "/é😀\u{2028}"
        let written = write { $0.string(text) }
        #expect(try parse(written).root.string == text)
        #expect(
            written.hasPrefix(
                #""\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000b\f\r\u000e\u000f\u0010"#))
        #expect(written.utf8.filter { $0 == UInt8(ascii: "\\") }.count == 32 + 3)
    }

    static let surrogates: [(json: String, replaced: String)] = [
        (#""half \ud83d""#, #""half \ufffd""#),
        (#"{"\uD83D\u0041":"\udE00"}"#, #"{"\ufffd\u0041":"\ufffd"}"#),
        (#"["\ud83d\ud83d\ude00\ude00"]"#, #"["\ufffd\ud83d\ude00\ufffd"]"#),
        (#""\\ud83d \\\ud83d \"\uDFFF\n""#, #""\\ud83d \\\ufffd \"\ufffd\n""#),
        (
            #"{"a" : "\uD83D\uDE00 \u2028 \ud7ff \ue000 😀", "b":1.50e3}"#,
            #"{"a" : "\uD83D\uDE00 \u2028 \ud7ff \ue000 😀", "b":1.50e3}"#
        ),
        (#""\ud83d\n\ude00""#, #""\ufffd\n\ufffd""#), ("", ""), (#"\"#, #"\"#), (#"\ud83"#, #"\ud83"#),
    ]

    @Test(arguments: surrogates)
    func `half a surrogate pair becomes U+FFFD, and all else stays byte for byte`(
        _ json: String, _ replaced: String
    ) {
        var bytes = Array(json.utf8)
        replaceLoneSurrogates(in: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == replaced)
    }

    @Test func `a character that must be escaped is found at every position of a longer text`() throws {
        for length in 1...24 {
            for at in 0..<length {
                for special in ["\"", "\\", "\n", "\u{1F}", "é"] {
                    let text =
                        String(repeating: "a", count: at) + special
                        + String(repeating: "b", count: length - at - 1)
                    #expect(try parse(write { $0.string(text) }).root.string == text)
                }
            }
        }
    }

    @Test(
        arguments: [
            (0.0, "0.0"), (-0.0, "-0.0"), (1.5, "1.5"), (0.1, "0.1"), (1e21, "1e+21"),
            (.leastNonzeroMagnitude, "5e-324"),
            (.infinity, "null"), (-.infinity, "null"), (.nan, "null"),
        ] as [(Double, String)])
    func `a double that is written and parsed again is unchanged`(value: Double, text: String) throws {
        let written = write { $0.double(value) }
        #expect(written == text)
        #expect(try parse(written).root.double == (value.isFinite ? value : nil))
    }

    @Test(arguments: [0, 1, -1, 9, 10, -10, 99, 1_234_567_890, .max, .min])
    func `integers are written in full`(value: Int) throws {
        #expect(write { $0.int(value) } == "\(value)")
        #expect(try parse(write { $0.int(value) }).root.int == value)
    }

    @Test func `a nil field is omitted`() throws {
        let value = try parse(#"{"x": [1]}"#).root["x"]
        let text = write { writer in
            writer.object { writer in
                writer.field("a", nil as String?)
                writer.field("b", nil as Int?)
                writer.field("c", nil as Double?)
                writer.field("d", nil as Bool?)
                writer.field("e", nil as JSONValue?)
                writer.field("f", "" as String?)
                writer.field("g", 0 as Int?)
                writer.field("h", 0.5)
                writer.field("i", false)
                writer.field("j", value)
            }
        }
        #expect(text == #"{"f":"","g":0,"h":0.5,"i":false,"j":[1]}"#)
    }

    @Test func `a document's value is written verbatim on one line`() throws {
        let document = try parse("{\r\n \"a\" : [ 1.0,\n\n2e5 ]\r,\"b\\n\":\"\\r\\u0041é\"\n}\n")
        #expect(write { $0.value(document.root) } == #"{   "a" : [ 1.0,  2e5 ] ,"b\n":"\r\u0041é" }"#)
    }

    @Test func `an error that the closure for an object or array throws is rethrown`() {
        var writer = JSONWriter()
        #expect(throws: Refusal.self) {
            try writer.object { _ in throw Refusal() }
        }
        #expect(throws: Refusal.self) {
            try writer.array { _ in throw Refusal() }
        }
    }

    @Test func `random documents are read back as they were written`() throws {
        var random = SeededGenerator(seed: 3)
        for _ in 0..<300 {
            let tree = Tree.random(depth: 4, using: &random)
            var writer = JSONWriter(reservingCapacity: 64)
            tree.write(to: &writer)
            #expect(Tree(try JSONDocument(writer.finish()).root) == tree)
        }
    }
}

private struct Refusal: Error {}

private func write(_ body: (inout JSONWriter) -> Void) -> String {
    var writer = JSONWriter()
    body(&writer)
    return String(decoding: writer.finish(), as: UTF8.self)
}

/// A document as Swift values, to compare with.
private indirect enum Tree: Equatable {
    case object([String], [Tree])
    case array([Tree])
    case string(String)
    case int(Int)
    case double(Double)
    case bool(Bool)
    case null

    init(_ value: JSONValue) {
        switch value.kind {
        case .object: self = .object(value.members.map(\.key), value.members.map { Tree($0.value) })
        case .array: self = .array(value.elements.map { Tree($0) })
        case .string: self = .string(value.string ?? "")
        case .number: self = value.int.map(Tree.int) ?? .double(value.double ?? .nan)
        case .boolean: self = .bool(value.bool ?? false)
        case .null: self = .null
        }
    }

    static func random(depth: Int, using random: inout SeededGenerator) -> Tree {
        switch Int.random(in: depth > 0 ? 0...8 : 3...8, using: &random) {
        case 0, 1:
            let names = (0..<Int.random(in: 0...5, using: &random)).map { _ in text(using: &random) }
            return .object(names, names.map { _ in Tree.random(depth: depth - 1, using: &random) })
        case 2:
            let count = Int.random(in: 0...5, using: &random)
            return .array((0..<count).map { _ in Tree.random(depth: depth - 1, using: &random) })
        case 3, 4: return .string(text(using: &random))
        case 5: return .int(Int(bitPattern: UInt(random.next())))
        case 6: return .double(Double(Int32(truncatingIfNeeded: random.next())) + 0.37)
        case 7: return .bool(Bool.random(using: &random))
        default: return .null
        }
    }

    private static func text(using random: inout SeededGenerator) -> String {
        let alphabet = Array("abcdefghij \"\\/\n\u{0}\u{1F}\u{7F}éß你😀\u{301}")
        return String(
            (0..<Int.random(in: 0...30, using: &random)).map { _ in
                alphabet.randomElement(using: &random) ?? "x"
            })
    }

    func write(to writer: inout JSONWriter) {
        switch self {
        case .object(let names, let values):
            writer.object { writer in
                for (name, value) in zip(names, values) {
                    writer.key(name)
                    value.write(to: &writer)
                }
            }
        case .array(let values): writer.array { writer in values.forEach { $0.write(to: &writer) } }
        case .string(let value): writer.string(value)
        case .int(let value): writer.int(value)
        case .double(let value): writer.double(value)
        case .bool(let value): writer.bool(value)
        case .null: writer.null()
        }
    }
}
