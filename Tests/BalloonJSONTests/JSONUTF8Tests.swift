import BalloonJSON
import Testing

/// The bytes that a string may contain.
struct JSONUTF8Tests {
    @Test(
        arguments: [
            ("overlong slash, two bytes", [0xC0, 0xAF]), ("overlong slash, three bytes", [0xE0, 0x80, 0xAF]),
            ("overlong slash, four bytes", [0xF0, 0x80, 0x80, 0xAF]), ("overlong NUL", [0xC0, 0x80]),
            ("largest overlong of two bytes", [0xC1, 0xBF]),
            ("largest overlong of three", [0xE0, 0x9F, 0xBF]),
            ("largest overlong of four", [0xF0, 0x8F, 0xBF, 0xBF]), ("high surrogate", [0xED, 0xA0, 0x80]),
            ("low surrogate", [0xED, 0xBF, 0xBF]), ("surrogate pair", [0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80]),
            ("above U+10FFFF", [0xF4, 0x90, 0x80, 0x80]), ("five bytes", [0xF8, 0x88, 0x80, 0x80, 0x80]),
            ("lone continuation", [0x80]), ("FE", [0xFE]), ("FF", [0xFF]), ("Latin-1", [0xE9, 0x74, 0xE9]),
            ("cut after one of two", [0xC3]), ("cut after two of three", [0xE2, 0x82]),
            ("cut after three of four", [0xF0, 0x9F, 0x98]),
        ] as [(String, [UInt8])])
    func `ill-formed UTF-8 is refused at every position of a string`(label: String, sequence: [UInt8]) {
        for lead in 0...17 {
            let before = [UInt8](repeating: 0x61, count: lead)
            for after in [[], Array("\"".utf8), Array("bcdefghijk\"".utf8)] {
                let error = #expect(throws: JSONError.self) {
                    try JSONDocument([0x22] + before + sequence + after)
                }
                let isInvalid = if case .invalidUTF8 = error { true } else { false }
                #expect(isInvalid, "\(label) after \(lead) bytes: \(String(describing: error))")
            }
        }
    }

    @Test func `a sequence of boundary bytes is accepted exactly when the standard library accepts it`() {
        let boundaries: [UInt8] = [
            0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xE0, 0xED, 0xEF, 0xF0, 0xF4, 0xF5,
        ]
        var accepted = 0
        for code in 0..<1 << 16 {
            let text = (0..<4).map { boundaries[code >> ($0 * 4) & 0xF] }
            let isValid = String(validating: text, as: UTF8.self) != nil
            if isValid { accepted += 1 }
            if ((try? JSONDocument([0x22] + text + [0x22])) != nil) != isValid {
                Issue.record("\(text) should be \(isValid ? "accepted" : "refused")")
            }
        }
        #expect(accepted > 100)
    }

    @Test func `every Unicode scalar value in a string is read unchanged`() throws {
        for first in stride(from: UInt32(0x80), to: 0x110000, by: 0x400) {
            let scalars = (first..<first + 0x400).compactMap(Unicode.Scalar.init)
            let text = String(String.UnicodeScalarView(scalars))
            #expect(try parse("\"\(text)\"").root.string == text)
        }
    }

    @Test func `bytes above ASCII outside of strings are refused`() {
        #expect(throws: JSONError.unexpectedByte(offset: 1)) { try parse("[é]") }
        #expect(throws: JSONError.unexpectedByte(offset: 2)) { try parse("[1\u{A0}]") }
    }
}
