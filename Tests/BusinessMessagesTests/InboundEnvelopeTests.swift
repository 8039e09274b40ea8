import BalloonJSON
import BusinessMessages
import Testing

struct InboundEnvelopeTests {
    private let body = #"{"id":"m-1","type":"text","sourceId":"urn:mbid:AQ+/=","destinationId":"b-1"}"#

    private func read(
        _ text: String, id: String? = nil, source: String? = nil, destination: String? = nil
    ) throws -> InboundEnvelope {
        let headers = EnvelopeHeaders(
            id: id.map { Array($0.utf8)[...] },
            sourceID: source.map { Array($0.utf8)[...] },
            destinationID: destination.map { Array($0.utf8)[...] })
        return try InboundEnvelope.read(document: json(text), headers: headers)
    }

    @Test func `the envelope of a message without headers is read from the body`() throws {
        let envelope = try read(body)
        #expect(envelope.id == MessageID("m-1"))
        #expect(envelope.type == "text")
        #expect(envelope.customer == CustomerID("urn:mbid:AQ+/="))
        #expect(envelope.business == BusinessID("b-1"))
        #expect(!envelope.hasPayloadReference)
    }

    @Test(arguments: [
        #"{"type":"text"}"#,
        #"{"type":"text","id":"","sourceId":"","destinationId":""}"#,
        #"{"type":"text","id":null,"sourceId":null,"destinationId":null}"#,
    ])
    func `headers replace identifiers that the body lacks or has empty`(text: String) throws {
        let envelope = try read(text, id: "m-1", source: "c-1", destination: "b-1")
        #expect(envelope.id == MessageID("m-1"))
        #expect(envelope.customer == CustomerID("c-1"))
        #expect(envelope.business == BusinessID("b-1"))
    }

    @Test
    func `the envelope of Apple's sample with a reference has its sender and receiver from the headers`()
        throws
    {
        let headers = EnvelopeHeaders(sourceID: Array("c".utf8)[...], destinationID: Array("b".utf8)[...])
        let envelope = try InboundEnvelope.read(document: sample("unrecognized-reference"), headers: headers)
        #expect(envelope.hasPayloadReference)
        #expect(envelope.id == MessageID("80c72dab-dc7b-4750-8fae-ee7a90fae0cb"))
        #expect(envelope.customer == CustomerID("c"))
    }

    @Test func `an identifier that is equal in header and body is accepted, and an empty header is ignored`()
        throws
    {
        let both = try read(body, id: "m-1", source: "urn:mbid:AQ+/=", destination: "b-1")
        #expect(try read(body) == both)
        #expect(try read(body, id: "", source: "", destination: "") == both)
        // An identifier that the body writes with a JSON escape is still equal.
        #expect(try read(body.replacing("m-1", with: #"m\u002d1"#), id: "m-1") == both)
    }

    @Test func `an envelope whose header and body differ is refused`() {
        #expect(throws: EnvelopeError.disagreement(.id)) { try read(body, id: "M-1") }
        #expect(throws: EnvelopeError.disagreement(.sourceID)) { try read(body, source: "urn:mbid:AQ") }
        #expect(throws: EnvelopeError.disagreement(.destinationID)) { try read(body, destination: "b-2") }
    }

    @Test(arguments: [
        (#"{"type":"text","sourceId":"c","destinationId":"b"}"#, EnvelopeError.Field.id),
        (#"{"type":"text","id":"m","destinationId":"b"}"#, .sourceID),
        (#"{"type":"text","id":"m","sourceId":"c","destinationId":""}"#, .destinationID),
        (#"{"id":"m","sourceId":"c","destinationId":"b"}"#, .type),
        (#"{"type":"","id":"m","sourceId":"c","destinationId":"b"}"#, .type),
    ])
    func `a field that neither header nor body has is reported as missing`(
        text: String, field: EnvelopeError.Field
    ) {
        #expect(throws: EnvelopeError.missing(field)) { try read(text) }
    }

    @Test(arguments: ["7", "true", "{}", "[]", #""a\nb""#, #""a\u0000b""#, #""\u007f""#])
    func `an identifier that is no string or has control characters is reported as malformed`(value: String) {
        #expect(throws: EnvelopeError.malformed(.sourceID)) {
            try read(#"{"type":"text","id":"m","sourceId":\#(value),"destinationId":"b"}"#)
        }
    }

    @Test func `a header that is not UTF-8 or contains a line break is reported as malformed`() throws {
        let body = try json(#"{"type":"text","sourceId":"c","destinationId":"b"}"#)
        for bytes: [UInt8] in [[0x61, 0xFF], [0x61, 0x0D, 0x0A, 0x62]] {
            #expect(throws: EnvelopeError.malformed(.id)) {
                try InboundEnvelope.read(document: body, headers: EnvelopeHeaders(id: bytes[...]))
            }
        }
    }

    @Test func `an identifier from header or body has at most 512 bytes`() throws {
        let longest = String(repeating: "é", count: 256)
        let bare = #"{"type":"text","sourceId":"c","destinationId":"b"}"#
        #expect(try read(bare, id: longest).id.rawValue == longest)
        #expect(try read(body.replacing("m-1", with: longest)).id.rawValue == longest)
        let error = EnvelopeError.tooLong(.id, limitBytes: 512)
        #expect(throws: error) { try read(bare, id: longest + "a") }
        #expect(throws: error) { try read(body.replacing("m-1", with: longest + "a")) }
        #expect(throws: error) { try read(body.replacing("m-1", with: String(repeating: "a", count: 9000))) }
    }

    @Test(arguments: ["[]", "1", #""text""#, "null"])
    func `a body that is not an object is refused`(text: String) {
        #expect(throws: EnvelopeError.notAnObject) { try read(text, id: "m", source: "c", destination: "b") }
    }

    @Test(arguments: [("null", false), ("[]", false), (#""x""#, false), ("{}", true)])
    func `an interactiveDataRef counts as a payload reference only when it is an object`(
        value: String, expected: Bool
    ) throws {
        let text = #"{"type":"interactive","interactiveDataRef":\#(value)}"#
        #expect(try read(text, id: "m", source: "c", destination: "b").hasPayloadReference == expected)
    }
}
