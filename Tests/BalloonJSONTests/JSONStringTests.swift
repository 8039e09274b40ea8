import BalloonJSON
import Testing

/// The values of strings.
struct JSONStringTests {
    @Test(arguments: [
        (#""""#, ""), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"), (#""\u0041\u00e9\u20AC""#, "Aé€"),
        (#""\u0000""#, "\0"), (#""\uD83D\uDE00""#, "😀"), (#""a\ud83d\ude00b""#, "a😀b"),
        (#""\uDBFF\uDFFF""#, "\u{10FFFF}"), (#""\uD800\uDC00""#, "\u{10000}"), (#""\\u0041""#, #"\u0041"#),
        (#""plain äöü 😀""#, "plain äöü 😀"), (#""x\n\ny""#, "x\n\ny"),
    ])
    func `the escapes of a string are resolved`(text: String, value: String) throws {
        let string = try #require(try parse(text).root.string)
        #expect(Array(string.utf8) == Array(value.utf8))
    }

    @Test(arguments: [
        (#""\uD83D""#, "\u{FFFD}"), (#""\uDE00""#, "\u{FFFD}"), (#""\uD83Dx""#, "\u{FFFD}x"),
        (#""\uD83D\n""#, "\u{FFFD}\n"), (#""\uD83D\u0041""#, "\u{FFFD}A"),
        (#""\uDE00\uD83D""#, "\u{FFFD}\u{FFFD}"),
        (#""\uD83D\uD83D\uDE00""#, "\u{FFFD}😀"), (#""\uD83D\\uDE00""#, "\u{FFFD}\\uDE00"),
    ])
    func `half of a surrogate pair becomes a replacement character`(text: String, value: String) throws {
        #expect(try parse(text).root.string == value)
    }

    @Test func `the raw bytes of a string are available only when it has no escapes`() throws {
        #expect(try parse(#""abc é""#).root.stringBytes.map(Array.init) == Array("abc é".utf8))
        #expect(try parse(#""""#).root.stringBytes?.isEmpty == true)
        #expect(try parse(#""a\/b""#).root.stringBytes == nil)
    }

    @Test func `a string is compared with a constant by its text`() throws {
        for text in [#""interactive""#, #""inter\u0061ctive""#] {
            let value = try parse(text).root
            #expect(value.equals("interactive"))
            #expect(!value.equals("interactivE"))
            #expect(!value.equals("interactiv"))
            #expect(!value.equals("interactive2"))
            #expect(!value.equals(""))
        }
        #expect(try parse(#""""#).root.equals(""))
        #expect(try parse(#""ä""#).root.equals("ä"))
        #expect(try !parse("true").root.equals("true"))
    }

    @Test func `a string without escapes of every length ends at its quotation mark`() throws {
        for length in 0...40 {
            let plain = String(repeating: "x", count: length)
            for tail in ["", "\\n", "é", "\\u0041z", "😀 y"] {
                let root = try parse("[\"\(plain)\(tail)\",\"\(tail)\(plain)\"]").root
                let read = tail.replacing("\\n", with: "\n").replacing("\\u0041", with: "A")
                #expect(root[0]?.string == plain + read)
                #expect(root[1]?.string == read + plain)
            }
        }
    }
}
