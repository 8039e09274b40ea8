import BalloonJSON
import BusinessMessages
import TestSupport
import Testing

/// Whether two JSON values are equal; the order of members does not matter, and numbers are compared by value.
func isEqual(_ left: JSONValue, _ right: JSONValue) -> Bool {
    guard left.kind == right.kind, left.count == right.count else { return false }
    switch left.kind {
    case .object:
        return left.members.allSatisfy { key, value in right[key].map { isEqual(value, $0) } ?? false }
    case .array: return zip(left.elements, right.elements).allSatisfy { isEqual($0, $1) }
    case .string: return left.string == right.string
    case .number: return left.double == right.double
    case .boolean: return left.bool == right.bool
    case .null: return true
    }
}

struct OutboundFixtureTests {
    private func encoded(_ message: OutboundMessage) throws -> [UInt8] {
        message.encode(
            id: MessageID("0c316beb-6b7a-4d2f-9e55-1a2b3c4d5e6f"),
            from: BusinessID("3f0c1d52-7b1e-4a57-9d0e-6c1f2a9b8e41"),
            to: CustomerID(
                message.isNotification
                    ? "tel:+4915550001234"
                    : try #require(try outboundSample("text").root["destinationId"]?.string)))
    }

    @Test
    func `every outbound fixture is also built from typed values, and every such message has a fixture`() {
        #expect(outboundMessages.map(\.name) == outboundNames)
    }

    @Test(arguments: outboundMessages)
    func `an outbound fixture equals the message that is built from typed values`(
        name: String, message: OutboundMessage
    ) throws {
        let bytes = try encoded(message)
        #expect(
            isEqual(try JSONDocument(bytes).root, try outboundSample(name).root), "\(text(bytes))")
    }

    @Test(arguments: outboundMessages)
    func `encoding the same values always produces the same bytes`(name: String, message: OutboundMessage)
        throws
    {
        #expect(try encoded(message) == encoded(message))
        #expect(
            try text(encoded(message)).hasPrefix(
                #"{"id":"0c316beb-6b7a-4d2f-9e55-1a2b3c4d5e6f","v":1,"type":""#))
    }

    @Test(arguments: Set(Kind.allCases).subtracting([.close, .unrecognized]))
    func `every kind that a business may send has a fixture`(kind: Kind) {
        #expect(outboundMessages.contains { $0.message.kind == kind && $0.name.hasPrefix(kind.rawValue) })
    }

    @Test(arguments: outboundMessages)
    func `only an authentication request has its own endpoint, and only an invitation is a notification`(
        name: String, message: OutboundMessage
    ) {
        let isAuthentication = name.hasPrefix("authentication")
        #expect(message.endpoint.rawValue == (isAuthentication ? "/v1/authenticate" : "/v1/message"))
        #expect(message.isNotification == name.hasPrefix("invitation"))
    }

    @Test func `a text gets a marker at its end for each file that has none`() throws {
        let body = try JSONDocument(
            encoded(outboundMessages.first { $0.name == "text-attachments" }!.message)
        )
        .root["body"]?.string
        #expect(body == "Offer \u{FFFC} and photograph \u{FFFC}")
    }

    @Test func `a payload from the gateway's answer is sent unchanged`() throws {
        let answer = try json("{\"bid\": \"b\",\n\"new\": {\"a\" : 1.50}}")
        let payload = try #require(UploadedPayload(answer.root))
        #expect(text(payload.json) == "{\"bid\": \"b\", \"new\": {\"a\" : 1.50}}")
        #expect(UploadedPayload(try json("[]").root) == nil)
        let session = try #require(MerchantSession(answer.root))
        #expect(session.json == payload.json)
        #expect(MerchantSession(try json("7").root) == nil)
    }

    @Test(arguments: [
        (0, "1970-01-01T00:00+0000"), (951_782_400, "2000-02-29T00:00+0000"),
        (-1, "1969-12-31T23:59:59+0000"),
        (1_783_702_800, "2026-07-10T17:00+0000"), (4_107_542_399, "2100-02-28T23:59:59+0000"),
        (Int.max, "9999-12-31T23:59:59+0000"), (Int.min, "0000-01-01T00:00+0000"),
    ])
    func `the start of a time slot is written in the format of Apple's devices`(
        seconds: Int, expected: String
    ) {
        #expect(TimePickerRequest.Timeslot("0", startSeconds: seconds, duration: .zero).startTime == expected)
    }
}
