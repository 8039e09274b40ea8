import BalloonJSON
import BusinessMessages
import Testing

struct SignInMessageTests {
    private let id = MessageID("0c316beb-6b7a-4d2f-9e55-1a2b3c4d5e6f")
    private let request = SignInRequest(
        OutboundBubble("Sign in"), reply: OutboundBubble("Signed in"), scope: ["openid"],
        additionalParameters: "prompt=login")

    private func encoded(_ message: OutboundMessage) throws -> JSONValue {
        try JSONDocument(message.encode(id: id, from: BusinessID("b"), to: CustomerID("c"))).root
    }

    @Test func `a queued sign-in is an authentication message with placeholders, and breaks no rule`() throws
    {
        let message = OutboundMessage.signIn(request)
        #expect(message.kind == .authentication)
        #expect(message.endpoint == .authenticate)
        #expect(message.problems().map(\.description) == [])
        let data = try #require(try encoded(message)["interactiveData"]?["data"])
        #expect(data["version"]?.string == "2.0")
        #expect(data["requestIdentifier"]?.string == id.rawValue)
        let oauth2 = try #require(data["authenticate"]?["oauth2"])
        #expect(oauth2["state"]?.string == SignInRequest.placeholder)
        #expect(oauth2["redirectURI"]?.string == SignInRequest.placeholder)
        #expect(oauth2["scope"]?.elements.map(\.string) == ["openid"])
        #expect(oauth2["additionalParameters"]?.string == "prompt=login")
    }

    @Test func `a sign-in from JSON equals the sign-in from typed values, and keeps fallback and labels`()
        throws
    {
        let typed = OutboundMessage.signIn(request).labelled(locale: "en_US", group: "desk").orText(
            "Call us.")
        for json in [typed.draft(), typed.encodeForServer(from: BusinessID("b"), to: CustomerID("c"))] {
            let document = try JSONDocument(json)
            #expect(OutboundMessage.problems(in: document.root).map(\.description) == [])
            let read = try OutboundMessage(json: document)
            #expect(read == typed)
            #expect(read.fallback == "Call us.")
        }
        #expect(try encoded(typed)["fallback"] == nil)
        #expect(try encoded(typed)["group"]?.string == "desk")
    }

    @Test func `a device needs AUTH2 for a sign-in`() throws {
        let message = OutboundMessage.signIn(request)
        #expect(try message.showable(on: Capabilities([.authentication2])) == message)
        let text = try message.orText("Call us.").showable(on: Capabilities([.authentication]))
        #expect(text == .text("Call us."))
        #expect(throws: UnsupportedMessage.self) { try message.showable(on: Capabilities([.authentication])) }
        let root = try JSONDocument(request.json).root
        #expect(
            OutboundMessage.problems(in: root, for: Capabilities([.authentication])).map(\.rule) == [
                .capability
            ])
        #expect(OutboundMessage.problems(in: root, for: Capabilities([.authentication2])) == [])
    }

    @Test func `the line of a sign-in keeps its placeholders and has no parameters`() throws {
        let root = try encoded(.signIn(request))
        let kept = try JSONDocument(try #require(OutboundMessage.redacted(root))).root
        let oauth2 = kept["interactiveData"]?["data"]?["authenticate"]?["oauth2"]
        #expect(oauth2?["state"]?.string == SignInRequest.placeholder)
        #expect(oauth2?["additionalParameters"]?.string == InboundEvent.redactedText)
    }

    @Test func `a sign-in with a problem is refused with all its problems`() throws {
        let document = try json(#"{"signIn":{"state":"s","additionalParameters":"state=1"}}"#)
        let error = #expect(throws: InvalidMessage.self) { try OutboundMessage(json: document) }
        #expect(error?.problems.map(\.rule) == [.required, .signInMember, .signInParameters])
    }
}
