import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import HandlerKit
import SignIn
import Testing

@testable import MessageServer
@testable import MessageStore

struct SignInPartsTests {
    private static func authentication(_ json: String) throws -> Authentication {
        let message =
            #"{"type":"interactive","interactiveData":{"data":{"version":"2.0","authenticate":\#(json)}}}"#
        let event = InboundEvent.decode(message: try JSONDocument(Array(message.utf8)))
        guard case .authentication(let authentication) = event.content else {
            throw CancellationError()
        }
        return authentication
    }

    private static let identity =
        #"{"result":"signedIn","issuer":"https://p.example","subject":"7","claims":{}}"#

    @Test(arguments: [
        (identity, #"{"status":"success"}"#, "signedIn"), (identity, #"{"status":"completed"}"#, "signedIn"),
        (identity, #"{"status":"cancel"}"#, "declined"), (identity, #"{"status":"failure"}"#, "failed"),
        (nil, #"{"status":"success"}"#, "unproven"),
        (#"{"result":"failed","code":"401"}"#, #"{"status":"success"}"#, "unproven"),
        (#"{"result":"failed","code":"401"}"#, #"{"status":"failure","error_code":"400"}"#, "failed"),
        (#"{"result":"declined"}"#, #"{"status":"failure"}"#, "declined"),
        ("{", #"{"status":"success"}"#, "unproven"), (nil, #"{"status":"new","error_code":7}"#, "failed"),
    ])
    func `a result needs both the recorded outcome and the status that the device reports`(
        recorded: String?, event: String, name: String
    ) throws {
        let result = SignInReleases.result(
            recorded.map { Array($0.utf8) }, try Self.authentication(event))
        #expect(result.name == name)
    }

    @Test func `a result of every case is the same after it was written as JSON and read`() throws {
        let claims = try JSONDocument(Array(#"{"email":"a@b.example"}"#.utf8)).root
        let tokens = SignInResult.Tokens(access: "a", refresh: "r", id: nil, expiresInSeconds: 60)
        let results: [SignInResult] = [
            .signedIn(SignInResult.Identity(issuer: "i", subject: "s", claims: claims, tokens: tokens)),
            .signedIn(SignInResult.Identity(issuer: "i", subject: "s", claims: claims)), .declined,
            .failed(code: "401"), .expired, .unproven,
        ]
        for result in results {
            let read = try #require(SignInResult(try JSONDocument(result.json).root))
            #expect(read.json == result.json)
        }
    }

    @Test func `the confirm page escapes the names in it`() {
        let page = SignInPage.page(business: #"<b>"Sam's" & Co"#, slug: "sam", value: "\"><script>").html
        #expect(page.contains("&lt;b&gt;&quot;Sam&#39;s&quot; &amp; Co"))
        #expect(!page.contains("<script"))
        #expect(!page.contains("<b>"))
    }

    @Test func `a payload has the secrets of an attempt`() throws {
        let attempt = SignInAttempt(
            state: "s", verifier: "v", nonce: nil, redirectURI: "https://a.example/", scope: ["a", "b"])
        let payload = try #require(SignInPayload(SignInPayload(attempt, additionalParameters: "a=1").json))
        #expect(payload.attempt == attempt)
        #expect(payload.additionalParameters == "a=1")
        #expect(SignInPayload(nil) == nil)
        #expect(SignInPayload(Array("{}".utf8)) == nil)
    }

    @Test func `a queued sign-in is incomplete, and another authentication is not`() throws {
        func isIncomplete(_ message: OutboundMessage) throws -> Bool {
            let bytes = message.encode(
                id: MessageID("0c316beb-6b7a-4d2f-9e55-1a2b3c4d5e6f"), from: BusinessID("b"),
                to: CustomerID("c"))
            return SignInParts.isIncomplete(try JSONDocument(bytes).root)
        }
        let presentation = Presentation("Sign in")
        #expect(try isIncomplete(.signIn(SignInRequest(OutboundBubble("Sign in")))))
        let own = AuthenticationRequest(
            scope: ["a"], state: "s", .two(redirectURI: "https://a.example"), presentation: presentation)
        #expect(try !isIncomplete(.authentication(own)))
        #expect(try !isIncomplete(.text("Hello")))
    }

    /// The late parts of a business that has a provider.
    private static func parts(of store: Store) -> SignInParts {
        var provider = Provider(issuer: nil, clientID: "c", clientAuthentication: .none, scope: ["profile"])
        provider.tokenURL = "https://p.example/token"
        var business = BusinessConfiguration(
            slug: "shop", businessID: BusinessID("b"), name: "Shop",
            handler: .builtin(name: "none", configuration: nil))
        business.authentication = AuthenticationConfiguration(provider: provider)
        return SignInParts(
            requests: store.requests,
            settings: SignInSettings([business], publicURL: "https://shop.example"))
    }

    @Test func `a queued reply that is sent again has the same parts, and a refused one has new parts`()
        async throws
    {
        let temporary = TemporaryStore()
        let store = try temporary.open()
        let parts = Self.parts(of: store)
        let entry = temporary.entry(.signIn(SignInRequest(OutboundBubble("Sign in"))))
        func complete() async throws -> [UInt8] { try await parts.complete(entry.reply.message, entry) }
        let command = SignInParts(requests: store.requests, settings: nil)
        await #expect(throws: (any Error).self) { try await command.complete(entry.reply.message, entry) }
        let first = try await complete()
        #expect(try await complete() == first)
        #expect(OutboundMessage.problems(inJSON: first, needsEnvelope: true).map(\.description) == [])
        await store.close()
        let restarted = try temporary.open()
        let again = SignInParts(requests: restarted.requests, settings: parts.settings)
        #expect(try await again.complete(entry.reply.message, entry) == first)
        try await again.settle(entry, .refused(status: 400, reason: "Bad Request"))
        #expect(try await again.complete(entry.reply.message, entry) != first)
        await restarted.close()
    }

    @Test func `a sign-in that the customer has used stays open when a repeated send is refused`()
        async throws
    {
        let temporary = TemporaryStore()
        let store = try temporary.open()
        let parts = Self.parts(of: store)
        let entry = temporary.entry(.signIn(SignInRequest(OutboundBubble("Sign in"))))
        _ = try await parts.complete(entry.reply.message, entry)
        // The server died before it knew that the gateway accepted the message, and the customer was faster.
        #expect(try await store.requests.update(of: entry.id) { $0?.consume(at: $1) } == true)
        let refused = try #require(
            await #expect(throws: ReplyRefused.self) { try await parts.complete(entry.reply.message, entry) })
        try await parts.settle(entry, .refused(status: nil, reason: refused.reason))
        #expect(try await store.requests.update(of: entry.id) { request, _ in request?.phase } == .consumed)
        await store.close()
    }
}
