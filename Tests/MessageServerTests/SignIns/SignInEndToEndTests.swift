import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import HandlerKit
import MessageStore
import ServerTestSupport
import SignIn
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import MessageServer

/// Asks each customer who writes to sign in, and greets by the result.
private struct GreetingHandler: TextHandler, AuthenticationHandler {
    func text(_: Text, _: Context) -> Outcome {
        let request = SignInRequest(OutboundBubble("Sign in"), additionalParameters: "prompt=login")
        return .reply(.signIn(request).orText("Please call us."))
    }

    func authentication(_: Authentication, _ context: Context) -> Outcome {
        switch context.signIn {
        case .signedIn(let identity):
            .reply("welcome \(identity.subject) of \(identity.claims["city"]?.string ?? "nowhere")")
        case .failed(let code): .reply("failed \(code)")
        case let result?: .reply(result.name)
        case nil: .reply("no result")
        }
    }
}

/// A provider without OpenID Connect on a loopback port: it answers each code with a token, and the token with claims.
private final class PlainProvider: Sendable {
    private final class Forms: Sendable {
        private let texts = Mutex<[String]>([])
        var all: [String] { texts.withLock { $0 } }
        func add(_ text: String) { texts.withLock { $0.append(text) } }
    }

    private let http: HTTPServer
    private let forms: Forms
    let url: String

    /// The forms that the token endpoint got.
    var exchanges: [String] { forms.all }

    init(refusesCodes: Bool = false) async throws {
        let forms = Forms()
        let token = HTTPRoute(.post, "/token", body: .collected(maximumBytes: 16_384)) { request, _ in
            forms.add(String(decoding: request.body, as: UTF8.self))
            return refusesCodes
                ? HTTPResponse(.badRequest, json: Array(#"{"error":"invalid_grant"}"#.utf8))
                : HTTPResponse(
                    .ok, json: Array(#"{"access_token":"access-secret","token_type":"Bearer"}"#.utf8))
        }
        let userinfo = HTTPRoute(.get, "/userinfo") { _, _ in
            HTTPResponse(.ok, json: Array(#"{"sub":"24400320","city":"Bremen"}"#.utf8))
        }
        self.forms = forms
        http = try HTTPServer(
            listeners: [HTTPListener(.tcp(host: "127.0.0.1", port: 0), routes: [token, userinfo])], shards: 1,
            logger: LogCollector().logger)
        url = "http://\(try await http.start()[0])"
    }

    func stop() async { await http.stop(within: .zero) }
}

/// A server whose first business has a provider.
private struct Fixture {
    let provider: PlainProvider
    let server: ServerUnderTest

    init(
        refusesCodes: Bool = false, publicURL: String? = "https://messages.example.com",
        adjust: (inout AuthenticationConfiguration) -> Void = { _ in }
    ) async throws {
        provider = try await PlainProvider(refusesCodes: refusesCodes)
        var client = Provider(
            issuer: nil, clientID: "balloon",
            clientAuthentication: .post(try Secret(Array("client-secret".utf8))), scope: ["profile"])
        client.tokenURL = provider.url + "/token"
        client.userinfoURL = provider.url + "/userinfo"
        client.allowsLoopback = true
        var authentication = AuthenticationConfiguration(provider: client)
        adjust(&authentication)
        server = try await ServerUnderTest(GreetingHandler()) { configuration in
            configuration.publicURL = publicURL
            configuration.businesses[0].authentication = authentication
        }
    }

    func stop() async {
        await server.stop(secrets: ["access-secret", "client-secret", "code-secret"])
        await provider.stop()
    }

    /// Writes a text, and returns the sign-in message that the server answers with.
    func ask(_ customer: SimulatedCustomer) async throws -> JSONValue {
        #expect(try await customer.post(customer.message(.text, text: "Hello")).status == 200)
        let messages = await server.gateway.waitForMessages(customer: customer.id)
        return try #require(messages.first?.message.root["interactiveData"]?["data"])
    }

    /// Opens a path of the server as a browser does, without following redirects.
    func browse(_ path: String, method: String = "GET", form: String = "") async throws -> TransportResponse {
        var request = TransportRequest(
            method: method, url: server.url + path, body: Array(form.utf8), allowsPlainHTTP: true)
        if method == "POST" {
            request.headers = [("content-type", "application/x-www-form-urlencoded")]
        }
        return try await server.transport.send(request)
    }

    /// Sends Apple's event about a sign-in, and returns the text that the handler answers with.
    func finish(
        _ customer: SimulatedCustomer, _ request: String, status: String = "success", replies: Int = 2
    ) async throws -> String? {
        let message = """
            {"v":1,"type":"interactive","interactiveData":{"bid":"\(Interaction.businessExtension)",
            "data":{"version":"2.0","requestIdentifier":"\(request)","authenticate":{"status":"\(status)"}}}}
            """
        #expect(try await customer.post(try customer.message(completing: Array(message.utf8))).status == 200)
        return await server.gateway.waitForMessages(count: replies, customer: customer.id).last?
            .message.root["body"]?.string
    }
}

extension JSONValue {
    fileprivate var oauth2: JSONValue? { self["authenticate"]?["oauth2"] }
}

extension TransportResponse {
    /// The value in the confirm page.
    fileprivate var confirmation: String? {
        let page = String(decoding: body, as: UTF8.self)
        guard let start = page.firstRange(of: #"name="value" value=""#)?.upperBound else { return nil }
        return String(page[start...].prefix { $0 != "\"" })
    }
}

struct SignInEndToEndTests {
    @Test
    func `a customer who confirms the sign-in is known to the handler, and nothing secret stays on disk`()
        async throws
    {
        let fixture = try await Fixture()
        let customer = fixture.server.customer()
        let data = try await fixture.ask(customer)
        let state = try #require(data.oauth2?["state"]?.string)
        let request = try #require(data["requestIdentifier"]?.string)
        #expect(data["version"]?.string == "2.0")
        #expect(data.oauth2?["redirectURI"]?.string == "https://messages.example.com/auth/one/callback")
        #expect(data.oauth2?["scope"]?.elements.map(\.string) == ["profile"])
        let parameters = try #require(data.oauth2?["additionalParameters"]?.string)
        #expect(parameters.hasPrefix("prompt=login&code_challenge="))
        let page = try await fixture.browse("/auth/one/callback?code=code-secret&state=\(state)")
        #expect(page.status == 200)
        #expect(page.header("cache-control") == "no-store")
        #expect(page.header("referrer-policy") == "no-referrer")
        let value = try #require(page.confirmation)
        let redirect = try await fixture.browse("/auth/one/confirm", method: "POST", form: "value=\(value)")
        #expect(redirect.status == 302)
        #expect(redirect.header("location") == "messages-auth://?status=success")
        #expect(try await fixture.finish(customer, request) == "welcome 24400320 of Bremen")
        #expect(fixture.provider.exchanges.count == 1)
        #expect(fixture.provider.exchanges.first?.contains("code_verifier=") == true)
        let journal = try fixture.server.journal()
        await fixture.stop()
        #expect(!journal.contains(state))
        #expect(!journal.contains("24400320\","))
        let line = try #require(
            try fixture.server.conversation(of: customer).first { $0.direction == .outbound }?.message)
        #expect(line["interactiveData"]?["data"]?.oauth2?["state"]?.string == SignInRequest.placeholder)
        let folder = fixture.server.directory.file("data/requests")
        for prefix in try Directory.names(in: folder) {
            for name in try Directory.names(in: folder + "/" + prefix) {
                let bytes = try File(folder + "/" + prefix + "/" + name, for: .reading).readAll()
                let request = try JSONDocument(bytes).root
                #expect(request["payload"] == nil && request["result"] == nil)
                #expect(request["releasedBy"]?.string != nil)
            }
        }
    }

    @Test func `a lured victim who does not confirm gives no identity`() async throws {
        let fixture = try await Fixture()
        let customer = fixture.server.customer()
        let data = try await fixture.ask(customer)
        let state = try #require(data.oauth2?["state"]?.string)
        #expect(try await fixture.browse("/auth/one/callback?code=code-secret&state=\(state)").status == 200)
        let request = try #require(data["requestIdentifier"]?.string)
        #expect(try await fixture.finish(customer, request) == "unproven")
        await fixture.stop()
    }

    @Test func `without the confirm page the callback returns to Messages at once`() async throws {
        let fixture = try await Fixture { $0.asksToConfirm = false }
        let customer = fixture.server.customer()
        let data = try await fixture.ask(customer)
        let state = try #require(data.oauth2?["state"]?.string)
        let form = "code=code-secret&state=\(state)"
        let redirect = try await fixture.browse("/auth/one/callback", method: "POST", form: form)
        #expect(redirect.status == 302)
        #expect(redirect.header("location") == "messages-auth://?status=success")
        let request = try #require(data["requestIdentifier"]?.string)
        let stranger = fixture.server.customer()
        #expect(try await fixture.finish(stranger, request, replies: 1) == "unproven")
        #expect(try await fixture.finish(customer, request) == "welcome 24400320 of Bremen")
        await fixture.stop()
    }

    @Test func `a development server without a public address uses the address of its listener`() async throws
    {
        let fixture = try await Fixture(publicURL: nil)
        let data = try await fixture.ask(fixture.server.customer())
        #expect(data.oauth2?["redirectURI"]?.string == fixture.server.url + "/auth/one/callback")
        await fixture.stop()
    }

    @Test func `a state is used once, on its own path, and other methods use nothing`() async throws {
        let fixture = try await Fixture { $0.asksToConfirm = false }
        let customer = fixture.server.customer()
        let state = try #require(try await fixture.ask(customer).oauth2?["state"]?.string)
        let query = "?code=code-secret&state=\(state)"
        let failure = "messages-auth://?status=failure&error_code=400"
        #expect(try await fixture.browse("/auth/two/callback" + query).header("location") == failure)
        #expect(try await fixture.browse("/auth/one/callback" + query, method: "PUT").status == 405)
        #expect(try await fixture.browse("/auth/one/callback" + query, method: "HEAD").status == 405)
        #expect(try await fixture.browse("/auth/one/confirm" + query).status == 405)
        for wrong in [
            "?code=a&code=b&state=\(state)", "?code=a&error=b&state=\(state)", "?code=a", "?state=\(state)",
        ] {
            #expect(try await fixture.browse("/auth/one/callback" + wrong).header("location") == failure)
        }
        #expect(fixture.provider.exchanges.isEmpty)
        let locations = try await withThrowingTaskGroup { group in
            for _ in 0..<4 {
                group.addTask { try await fixture.browse("/auth/one/callback" + query).header("location") }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(locations.count { $0 == "messages-auth://?status=success" } == 1)
        #expect(locations.count { $0 == failure } == 3)
        #expect(fixture.provider.exchanges.count == 1)
        await fixture.stop()
    }

    @Test func `a customer who declines, a refused code and a success without a callback have their results`()
        async throws
    {
        let fixture = try await Fixture(refusesCodes: true)
        func ask() async throws -> (SimulatedCustomer, state: String, request: String) {
            let customer = fixture.server.customer()
            let data = try await fixture.ask(customer)
            return (
                customer, try #require(data.oauth2?["state"]?.string),
                try #require(data["requestIdentifier"]?.string)
            )
        }
        let declining = try await ask()
        let cancel = try await fixture.browse(
            "/auth/one/callback?error=access_denied&state=\(declining.state)")
        #expect(cancel.header("location") == "messages-auth://?status=cancel&error_code=403")
        #expect(try await fixture.finish(declining.0, declining.request, status: "cancel") == "declined")
        let refused = try await ask()
        let failure = try await fixture.browse("/auth/one/callback?code=code-secret&state=\(refused.state)")
        #expect(failure.header("location") == "messages-auth://?status=failure&error_code=502")
        #expect(try await fixture.finish(refused.0, refused.request, status: "failure") == "failed 502")
        let hasty = try await ask()
        #expect(try await fixture.finish(hasty.0, hasty.request) == "unproven")
        let late = try await fixture.browse("/auth/one/callback?code=code-secret&state=\(hasty.state)")
        #expect(late.header("location") == "messages-auth://?status=failure&error_code=400")
        #expect(fixture.provider.exchanges.count == 1)
        await fixture.stop()
    }

    @Test func `a device without AUTH2 gets the fallback, and a business without a provider sends nothing`()
        async throws
    {
        let fixture = try await Fixture()
        var old = fixture.server.customer()
        old.capabilities = Capabilities([.authentication])
        #expect(try await old.post(old.message(.text, text: "Hello")).status == 200)
        let messages = await fixture.server.gateway.waitForMessages(customer: old.id)
        #expect(messages.first?.message.root["body"]?.string == "Please call us.")
        let other = fixture.server.customer(to: ServerUnderTest.otherBusiness)
        #expect(try await other.post(other.message(.text, text: "Hello")).status == 200)
        await fixture.server.log.first {
            $0.contains("no \\\"authentication\\\"") || $0.contains(#"no "authentication""#)
        }
        #expect(fixture.server.gateway.messages(for: other.id).isEmpty)
        await fixture.stop()
    }
}
