import BalloonJSON
import HandlerKit
import HandlerProtocol
import Testing

struct HandshakeTests {
    @Test func `the parameters of initialize survive writing and parsing`() throws {
        let configuration = try JSONDocument(Array(#"{"greeting":"Hello"}"#.utf8)).root
        let first = Initialization(
            business: BusinessID("b-1"), slug: "demo", configuration: configuration, maximumInFlight: 4,
            deadline: .seconds(30))
        let read = try Initialization(try written { first.write(to: &$0) })
        #expect(read.business == BusinessID("b-1"))
        #expect(read.slug == "demo")
        #expect(read.configuration?["greeting"]?.string == "Hello")
        #expect(read.maximumInFlight == 4)
        #expect(read.deadline == .seconds(30))
    }

    @Test func `a handler that supports no offered version reports it`() throws {
        let params = try JSONDocument(Array(#"{"protocolVersions":["2"],"business":{"id":"a"}}"#.utf8)).root
        #expect(throws: HandlerProtocolError.unsupportedVersion) { try Initialization(params) }
    }

    @Test func `an introduction survives writing and parsing`() throws {
        let introduction = Introduction(
            name: "bakery", version: "2", events: [.kind(.text), .kind(.form), .replyFailed],
            maximumInFlight: 3)
        #expect(try Introduction(try written { introduction.write(to: &$0) }) == introduction)
    }

    @Test(arguments: [
        (#"{}"#, HandlerProtocolError.unsupportedVersion),
        (#"{"protocolVersion":"2","events":"*"}"#, .unsupportedVersion),
        (#"{"protocolVersion":"1"}"#, .malformed("events")),
        (#"{"protocolVersion":"1","events":["texts"]}"#, .unknownKind("texts")),
        (#"{"protocolVersion":"1","events":"*","maxInFlight":0}"#, .malformed("maxInFlight")),
    ])
    func `an unusable introduction is refused`(_ json: String, _ error: HandlerProtocolError)
        throws
    {
        let result = try JSONDocument(Array(json.utf8)).root
        #expect(throws: error) { try Introduction(result) }
    }

    @Test func `an unknown kind is named together with those that exist`() {
        let error = "\(HandlerProtocolError.unknownKind("speech"))"
        #expect(error.contains(#""speech""#))
        #expect(error.contains("text quickReply") && error.contains("replyFailed"))
    }

    @Test func `a star in an introduction means every kind`() throws {
        let result = try JSONDocument(Array(#"{"protocolVersion":"1","events":"*"}"#.utf8)).root
        #expect(try Introduction(result).events == Subscription.everyKind)
    }
}
