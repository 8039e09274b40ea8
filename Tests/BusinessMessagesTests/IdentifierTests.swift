import BusinessMessages
import Testing

struct IdentifierTests {
    @Test func `a random message id is a version 4 UUID in lower case`() throws {
        for _ in 0..<200 {
            let text = Array(MessageID.random().rawValue.utf8)
            #expect(text.count == 36)
            for (position, byte) in text.enumerated() {
                switch position {
                case 8, 13, 18, 23: #expect(byte == UInt8(ascii: "-"))
                case 14: #expect(byte == UInt8(ascii: "4"))
                case 19: #expect("89ab".utf8.contains(byte))
                default: #expect("0123456789abcdef".utf8.contains(byte))
                }
            }
        }
    }

    @Test func `random message ids differ`() {
        let many = Set((0..<1000).map { _ in MessageID.random() })
        #expect(many.count == 1000)
    }

    @Test func `identifiers keep every byte and are compared byte by byte`() {
        let opaque = "urn:mbid:AQAAY+/3q=="
        #expect(CustomerID(opaque).rawValue == opaque)
        #expect(CustomerID(opaque) != CustomerID(opaque.lowercased()))
        #expect(CustomerID("\u{E9}") != CustomerID("e\u{301}"))
        #expect("\(BusinessID("a884eddf"))" == "a884eddf")
        #expect(MessageID(rawValue: "A") == MessageID("A"))
    }

    @Test func `every kind has the name that the page Architecture lists`() {
        let spellings =
            "text quickReply listPicker timePicker form authentication applePay app invitation typingStart "
            + "typingEnd close unrecognized"
        #expect(Kind.allCases.map(\.rawValue).joined(separator: " ") == spellings)
        #expect(Kind.quickReply.description == "quickReply")
    }
}
