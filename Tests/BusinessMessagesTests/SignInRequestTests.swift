import BalloonJSON
import BusinessMessages
import Testing

struct SignInRequestTests {
    private static func request(_ members: String) -> String {
        #"{"signIn":{"receivedMessage":{"title":"Sign in"}\#(members)}}"#
    }

    @Test func `a sign-in request is the same after it was written as JSON and read`() throws {
        let image = OutboundImage("1", bytes: image("120x120"), description: "A key")
        let request = SignInRequest(
            OutboundBubble("Sign in", subtitle: "at the shop", image: "1"),
            reply: OutboundBubble("Signed in"),
            scope: ["openid", "email"], additionalParameters: "prompt=login&ui_locales=de%20en",
            images: [image],
            sessionIdentifier: "95852f7b-35e3-de9c-4d6d-cec4b940e5f9")
        let document = try JSONDocument(request.json)
        #expect(SignInRequest.problems(in: document.root).map(\.description) == [])
        #expect(try SignInRequest(json: document.root) == request)
    }

    @Test func `a sign-in request needs a bubble only`() throws {
        let request = try SignInRequest(json: try json(Self.request("")).root)
        #expect(request == SignInRequest(OutboundBubble("Sign in")))
        #expect(text(request.json) == Self.request(""))
    }

    @Test(arguments: [
        "requestIdentifier", "state", "redirectURI", "responseType", "responseEncryptionKey", "clientSecret",
    ])
    func `a sign-in request with a member that the server sets is refused at that member`(name: String) throws
    {
        let document = try json(Self.request(#","\#(name)":"secret-value""#))
        let error = #expect(throws: InvalidMessage.self) { try SignInRequest(json: document.root) }
        #expect(error?.problems.map(\.rule) == [.signInMember])
        #expect(error?.problems.map(\.pointer) == ["/signIn/" + name])
        #expect(error?.problems.contains { $0.description.contains("secret-value") } == false)
    }

    @Test(arguments: [
        ("prompt=login", true), ("prompt", true), ("a=1&b=%20", true), ("", true), ("a=client_id=7", true),
        ("State=1", true), ("a=1&&b=2", false), ("=1", false), ("a=1&", false), ("a=b c", false),
        ("a=ü", false),
        ("a=1#b", false), ("client%5Fid=7", false), ("a[]=7", false),
    ])
    func `the parameters of a sign-in request have plain names and form a query`(
        parameters: String, isSound: Bool
    ) throws {
        let document = try json(Self.request(#","additionalParameters":"\#(parameters)""#))
        let problems = SignInRequest.problems(in: document.root)
        #expect(problems.map(\.rule) == (isSound ? [] : [.signInParameters]))
        #expect(problems.hasErrors == !isSound)
    }

    @Test(arguments: SignInRequest.protocolParameters.sorted())
    func `a sign-in request must not set a parameter of the protocol`(name: String) throws {
        for parameters in [name, name + "=7", "prompt=login&" + name + "=7"] {
            let document = try json(Self.request(#","additionalParameters":"\#(parameters)""#))
            let problems = SignInRequest.problems(in: document.root)
            #expect(problems.map(\.rule) == [.signInParameters])
            #expect(problems.map(\.pointer) == ["/signIn/additionalParameters"])
            #expect(problems.map(\.found) == [name])
        }
    }

    @Test(arguments: [(2048, true), (2049, false)])
    func `the parameters of a sign-in request have at most 2,048 bytes`(count: Int, isSound: Bool) throws {
        let parameters = "a=" + String(repeating: "b", count: count - 2)
        let document = try json(Self.request(#","additionalParameters":"\#(parameters)""#))
        #expect(SignInRequest.problems(in: document.root).isEmpty == isSound)
    }

    @Test(arguments: [
        (#"{"signIn":7}"#, MessageRule.type, "/signIn"),
        (#"{"signIn":{}}"#, .required, "/signIn/receivedMessage"),
        ("[]", .type, ""), ("{}", .required, "/signIn"),
        (request(#","scope":[]"#), .empty, "/signIn/scope"),
        (request(#","scope":[""]"#), .empty, "/signIn/scope/0"),
        (request(#","scope":"openid""#), .type, "/signIn/scope"),
        (request(#","replyMessage":{"title":7}"#), .type, "/signIn/replyMessage/title"),
        (request(#","images":[{"identifier":"1","data":"*"}]"#), .base64, "/signIn/images/0/data"),
    ])
    func `a problem of a sign-in request has its rule and its place`(
        message: String, rule: MessageRule, pointer: String
    ) throws {
        let error = #expect(throws: InvalidMessage.self) { try SignInRequest(json: try json(message).root) }
        let problem = error?.problems.first { $0.severity == .error }
        #expect(problem?.rule == rule)
        #expect(problem?.pointer == pointer)
    }

    @Test func `an image that no bubble of a sign-in request uses is a warning`() throws {
        let image = OutboundImage("1", bytes: image("120x120"))
        let request = SignInRequest(OutboundBubble("Sign in"), images: [image])
        let problems = SignInRequest.problems(in: try JSONDocument(request.json).root)
        #expect(problems.map(\.rule) == [.unusedImage])
        #expect(problems.map(\.pointer) == ["/signIn/images/0/identifier"])
    }
}
