import BalloonJSON
import Testing

/// The error of an invalid text, and its position.
struct JSONErrorTests {
    @Test(arguments: [
        ("", JSONError.unexpectedEnd(offset: 0)), ("  ", .unexpectedEnd(offset: 2)),
        (#"{"a":"#, .unexpectedEnd(offset: 5)), ("\"abc", .unexpectedEnd(offset: 4)),
        ("\"abc\\", .unexpectedEnd(offset: 5)), ("\"\\u00", .unexpectedEnd(offset: 5)),
        ("tru", .unexpectedEnd(offset: 3)), ("-", .unexpectedEnd(offset: 1)),
        ("1.", .unexpectedEnd(offset: 2)),
        ("[1;2]", .unexpectedByte(offset: 2)), ("[1,]", .unexpectedByte(offset: 3)),
        (#"{"a":1,}"#, .unexpectedByte(offset: 7)), ("{1:2}", .unexpectedByte(offset: 1)),
        (#"{"a";1}"#, .unexpectedByte(offset: 4)), ("trUe", .unexpectedByte(offset: 2)),
        ("[1}", .unexpectedByte(offset: 2)), ("1 2", .trailingBytes(offset: 2)),
        ("{}}", .trailingBytes(offset: 2)), ("\u{FEFF}{}", .byteOrderMark(offset: 0)),
        ("[01]", .invalidNumber(offset: 1)), ("[-a]", .invalidNumber(offset: 2)),
        ("[1.e5]", .invalidNumber(offset: 3)), ("[1e+]", .invalidNumber(offset: 4)),
        (#"["ab\x"]"#, .invalidEscape(offset: 4)), (#"["\u12G4"]"#, .invalidEscape(offset: 2)),
        ("[\"a\nb\"]", .controlCharacter(offset: 3)), ("\"0123456789\u{1}\"", .controlCharacter(offset: 11)),
    ])
    func `an invalid JSON text is refused with the reason and the byte offset`(text: String, error: JSONError)
    {
        #expect(throws: error) { try parse(text) }
    }

    @Test func `the error's position counts lines and characters from 1`() {
        for (text, line, column) in [
            ("x", 1, 1), ("[\n  x]", 2, 3), ("[\r\n\n\"äö😀\" x]", 3, 7), ("[\n", 2, 1), ("{\"ä\":01}", 1, 6),
        ] {
            let bytes = Array(text.utf8)
            let error = #expect(throws: JSONError.self) { try JSONDocument(bytes) }
            let position = error?.position(in: bytes) ?? (0, 0)
            #expect(position == (line, column), "\(text)")
        }
    }

    @Test func `the description contains the reason and the position, and no part of the text`() {
        let errors: [JSONError] = [
            .unexpectedEnd(offset: 7), .unexpectedByte(offset: 7), .trailingBytes(offset: 7),
            .byteOrderMark(offset: 7), .invalidNumber(offset: 7), .invalidEscape(offset: 7),
            .controlCharacter(offset: 7), .invalidUTF8(offset: 7), .tooDeep(maximum: 3, offset: 7),
            .tooLong(maximum: 3, offset: 7), .tooManyNodes(maximum: 3, offset: 7),
        ]
        #expect(Set(errors.map(\.reason)).count == errors.count)
        for error in errors {
            #expect(error.offset == 7)
            #expect("\(error)" == "\(error.reason) at byte 7")
        }
    }
}
