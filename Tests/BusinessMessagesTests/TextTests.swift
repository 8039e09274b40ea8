import BalloonJSON
import Testing

@testable import BusinessMessages

struct TextTests {
    private func text(_ name: String) throws -> Text {
        let event = try event(name)
        guard case .text(let text) = event.content else { throw Unexpected(event.kind) }
        return text
    }

    private func text(json: String) throws -> Text {
        let event = try event(json: json)
        guard case .text(let text) = event.content else { throw Unexpected(event.kind) }
        return text
    }

    @Test func `a plain text is decoded with its body and nothing else`() throws {
        let text = try text("text")
        #expect(text.body == "Good morning, is the blue bicycle still in stock?")
        #expect(text.plainBody == text.body)
        #expect(text.subject == nil)
        #expect(text.attachments.isEmpty)
        #expect(text.tapback == nil)
    }

    @Test func `each attachment has the place of its marker in the body`() throws {
        let text = try text("text-attachments")
        #expect(text.body == "The receipt \u{FFFC} and the damage \u{FFFC}")
        #expect(text.plainBody == "The receipt  and the damage")
        try #require(text.attachments.count == 2)
        let photo = text.attachments[0]
        #expect(photo.name == "IMG_0412.HEIC")
        #expect(photo.mimeType == "image/heic")
        #expect(photo.sizeBytes == 148_861)
        #expect(photo.url == "https://p29-content.icloud.com/MA1F3C5E7092B4D6F8.21F788CE698EE1A9.C01USN00")
        #expect(photo.owner == "MA1F3C5E7092B4D6F8.21F788CE698EE1A9.C01USN00")
        #expect(photo.key?.hasPrefix("00") == true)
        #expect(photo.signature?.hasPrefix("81") == true)
        #expect(photo.signatureBase64 == nil)
        #expect(photo.place == 12)
        let receipt = text.attachments[1]
        #expect(receipt.sizeBytes == 20_480)
        #expect(receipt.signature == nil)
        #expect(receipt.signatureBase64?.hasPrefix("g") == true)
        #expect(receipt.place == 29)
    }

    @Test(arguments: [
        (" \u{FFFC} \r\na\u{FFFC} \u{FFFC}b\u{3000}\u{FFFC}\t", "a b"), ("\u{FFFC}", ""),
        (" \u{A0}\u{2028}", ""), ("\u{FFFB}a\u{FFFD}", "\u{FFFB}a\u{FFFD}"), ("a\u{200B}", "a\u{200B}"),
        ("é \u{1F468}", "é \u{1F468}"),
        // Scalars are compared: a mark after a blank is no blank.
        (" \u{301}a", "\u{301}a"), ("a \u{301}", "a \u{301}"),
    ])
    func `a plain body has neither markers nor surrounding white space`(body: String, plain: String) throws {
        let json = JSONWriter.object { $0.fields(["type": "text", "body": body]) }
        let text = try text(json: String(decoding: json, as: UTF8.self))
        #expect(Array(text.plainBody.utf8) == Array(plain.utf8))
    }

    @Test func `the scalars of white space are trimmed, at both ends, and no other`() {
        let scalars = (0...0x10FFFF as ClosedRange<UInt32>).lazy.compactMap(Unicode.Scalar.init)
        let wrong = scalars.filter { scalar in
            let (text, isBlank) = (String(scalar), scalar.properties.isWhitespace)
            return isBlank != text.trimmed.isEmpty || isBlank && (text + "a" + text).trimmed != "a"
        }
        #expect(Array(wrong) == [])
    }

    @Test(.timeLimit(.minutes(1)), arguments: [" ", "\u{3000}", "\u{FFFC}"])
    func `a text of megabytes of blanks is read in time`(blank: String) throws {
        let blanks = String(repeating: blank, count: 3_000_000 / blank.utf8.count)
        for (body, plain) in [(blanks, ""), ("\(blanks)a\(blanks)", "a")] {
            let text = try text(json: #"{"type":"text","body":"\#(body)"}"#)
            #expect(text.plainBody == plain && text.tapback == nil)
        }
    }

    @Test func `attachments with the member names of older gateways are decoded`() throws {
        let text = try text(
            json: """
                {"type":"text","attachments":[{"file-size":"7","mime-type":"a/b","decryption-key":"00","mmcs-url":"u",
                "mmcs-owner":"o","mmcs-signature-hex":"81A6"}]}
                """)
        let attachment = try #require(text.attachments.first)
        #expect(attachment.sizeBytes == 7)
        #expect(attachment.mimeType == "a/b")
        #expect(attachment.key == "00")
        #expect(attachment.url == "u")
        #expect(attachment.owner == "o")
        #expect(attachment.signature == "81A6")
        #expect(attachment.place == nil)
        #expect(text.body.isEmpty)
    }

    @Test func `all attachments are listed when the body has more or fewer markers`() throws {
        let more = try text(json: #"{"type":"text","body":"a\ufffc","attachments":[{},{}]}"#)
        #expect(more.attachments.map(\.place) == [1, nil])
        let fewer = try text(json: #"{"type":"text","body":"\ufffcé\ufffc","attachments":{"name":"x"}}"#)
        #expect(fewer.attachments.map(\.name) == ["x"])
        #expect(fewer.attachments.map(\.place) == [0])
        #expect(try text(json: #"{"type":"text","attachments":["x",null]}"#).attachments.isEmpty)
    }

    @Test func `the subject of a text is decoded`() throws {
        #expect(try text(json: #"{"type":"text","subject":"Hello","body":7}"#).subject == "Hello")
        #expect(try text(json: #"{"type":"text","body":7}"#).body == "7")
    }
}
