import BalloonJSON
import BusinessMessages
import Testing

struct OutboundJSONTests {
    private let customer = CustomerID("urn:mbid:AQ")

    @Test(arguments: outboundMessages)
    func `a message from JSON equals the message that is built from typed values`(
        name: String, message: OutboundMessage
    ) throws {
        let fixture = try outboundSample(name)
        let taken = try OutboundMessage(json: fixture)
        let id = MessageID("0c316beb-6b7a-4d2f-9e55-1a2b3c4d5e6f")
        let (business, customer) = (BusinessID("b"), CustomerID("c"))
        let bytes = taken.encode(id: id, from: business, to: customer)
        #expect(
            isEqual(
                try JSONDocument(bytes).root,
                try JSONDocument(message.encode(id: id, from: business, to: customer)).root))
        #expect(taken.kind == (name == "reference" ? .unrecognized : message.kind))
        #expect(taken.endpoint == message.endpoint)
        #expect(taken.isNotification == message.isNotification)
    }

    @Test
    func `encoding a message from JSON replaces the envelope's members, and leaves all others unchanged`()
        throws
    {
        let document = try json(
            #"{"v":1,"sourceId":"x","type":"text", "body": "a\u0041","id":"00000000-0000-0000-0000-000000000000","new":1.50}"#
        )
        let bytes = try OutboundMessage(json: document)
            .encode(id: MessageID("1"), from: BusinessID("b"), to: CustomerID("c"))
        #expect(
            text(bytes)
                == #"{"id":"1","v":1,"sourceId":"b","destinationId":"c","type":"text","body":"a\u0041","new":1.50}"#
        )
    }

    @Test func `an attachment's size from JSON is sent as a string, and its other members stay unchanged`()
        throws
    {
        let fixture = try outboundSample("text-attachments")
        let numbers = try fixture.replacing("/attachments/0/size", by: "148861")
            .replacing("/attachments/1/size", by: "2048")
        let bytes = try OutboundMessage(json: numbers)
            .encode(id: MessageID("1"), from: BusinessID("b"), to: CustomerID("c"))
        let sent = try JSONDocument(bytes).root["attachments"]
        #expect(isEqual(try #require(sent), try #require(fixture.root["attachments"])))
    }

    @Test(arguments: [#"{"type":"close"}"#, #"{"type":"text"}"#, "[]", "7", "{}"])
    func `a message from JSON that Apple would refuse is refused with all its problems`(message: String)
        throws
    {
        let error = #expect(throws: InvalidMessage.self) { try OutboundMessage(json: try json(message)) }
        #expect(error?.problems.hasErrors == true)
    }
}
