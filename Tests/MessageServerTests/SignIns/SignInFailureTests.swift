import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import Glibc
import MessageServer
import MessageStore
import ServerTestSupport
import SignIn
import Simulator
import TestSupport
import Testing

/// Sign-ins that end because of time, of the disk or of a stop, through the whole server.
struct SignInFailureTests {
    private static let success = DeviceSignIn.Outcome.ended(status: "success", errorCode: nil)
    private static let redirect = "messages-auth://?status=success"

    private static func failure(_ code: Int) -> String {
        "messages-auth://?status=failure&error_code=\(code)"
    }

    private func start() async throws -> SignInUnderTest {
        try await SignInUnderTest { $0.asksToConfirm = false }
    }

    @Test(arguments: [(120, "expired"), (3720, "welcome user-alice")])
    func `a success event is too late when releaseSeconds have passed since the callback`(
        releaseSeconds: Int, expected: String
    ) async throws {
        let test = try await SignInUnderTest {
            $0.asksToConfirm = false
            $0.releaseLifetime = .seconds(releaseSeconds)
        }
        let customer = test.customer()
        let message = try await test.ask(customer)
        let query = try await test.query(for: message)
        let answer = try await test.browse("/auth/one/callback?" + query)
        #expect(answer.header("location") == Self.redirect)
        let since = Timestamp(milliseconds: Timestamp.now().milliseconds - 120_000)
        try await test.changeRequests(in: "confirmed") { _ in
            ["since": Array("\"\(since.rfc3339)\"".utf8)]
        }
        #expect(try await test.report(Self.success, customer, message) == expected)
        await test.stop()
    }

    @Test func `a callback after stateSeconds fails with 400, and its event has expired`() async throws {
        let test = try await start()
        let customer = test.customer()
        let message = try await test.ask(customer)
        let query = try await test.query(for: message)
        let since = Timestamp(milliseconds: Timestamp.now().milliseconds - 600_000)
        try await test.changeRequests(in: "open") { _ in ["since": Array("\"\(since.rfc3339)\"".utf8)] }
        let answer = try await test.browse("/auth/one/callback?" + query)
        #expect(answer.header("location") == Self.failure(400))
        #expect(test.provider.requestCount(.token) == 0)
        #expect(try await test.report(Self.success, customer, message) == "expired")
        await test.stop()
    }

    @Test(arguments: ["completed", "failure", "cancel"])
    func `a second event of a sign-in is not delivered, although the first one's delivery has ended`(
        status: String
    ) async throws {
        let test = try await start()
        let customer = test.customer()
        let message = try await test.ask(customer)
        _ = try await test.browse("/auth/one/callback?" + test.query(for: message))
        #expect(try await test.report(Self.success, customer, message) == "welcome user-alice")
        #expect(try await eventually { try test.areForgotten() })
        try await test.post(.ended(status: status, errorCode: nil), customer, message)
        #expect(try await customer.post(customer.message(.text, text: "Again")).status == 200)
        let replies = await test.server.gateway.waitForMessages(count: 3, customer: customer.id)
        #expect(replies.count == 3 && replies.last?.message.oauth2 != nil)
        await test.stop()
    }

    /// Makes each write of the open request fail; returns the obstacle.
    private func obstructRequest(_ test: SignInUnderTest) throws -> String {
        let path = try #require(try test.requestFiles().first) + ".\(getpid()).new"
        try Directory.make(path)
        return path
    }

    @Test func `a request that cannot be consumed fails with 503, and stays usable`() async throws {
        let test = try await start()
        let customer = test.customer()
        let message = try await test.ask(customer)
        let query = try await test.query(for: message)
        let isOpen = { try test.requests().first?.root["phase"]?.string == "open" }
        #expect(try await eventually { try isOpen() })
        let obstacle = try obstructRequest(test)
        let refused = try await test.browse("/auth/one/callback?" + query)
        #expect(refused.header("location") == Self.failure(503))
        #expect(test.provider.requestCount(.token) == 0)
        try Directory.removeEmpty(obstacle)
        let accepted = try await test.browse("/auth/one/callback?" + query)
        #expect(accepted.header("location") == Self.redirect)
        #expect(try await test.report(Self.success, customer, message) == "welcome user-alice")
        await test.stop()
    }

    @Test func `a result that cannot be recorded fails with 503, and its code is spent`() async throws {
        let test = try await start()
        let customer = test.customer()
        let message = try await test.ask(customer)
        let query = try await test.query(for: message)
        test.provider.misbehave(.slow(.userinfo, .seconds(2)))
        async let refused = test.browse("/auth/one/callback?" + query)
        #expect(await eventually { test.provider.requestCount(.userinfo) == 1 })
        let obstacle = try obstructRequest(test)
        #expect(try await refused.header("location") == Self.failure(503))
        try Directory.removeEmpty(obstacle)
        let again = try await test.browse("/auth/one/callback?" + query)
        #expect(again.header("location") == Self.failure(400))
        #expect(test.provider.requestCount(.token) == 1)
        #expect(try await test.report(Self.success, customer, message) == "unproven")
        await test.stop()
    }

    @Test func `a provider that answers too late fails with 504`() async throws {
        let test = try await start()
        let customer = test.customer()
        let message = try await test.ask(customer)
        let query = try await test.query(for: message)
        test.provider.misbehave(.slow(.userinfo, .seconds(300)))
        let answer = try await test.browse("/auth/one/callback?" + query)
        #expect(answer.header("location") == Self.failure(504))
        let outcome = DeviceSignIn.Outcome.ended(status: "failure", errorCode: "504")
        #expect(try await test.report(outcome, customer, message) == "failed 504")
        await test.server.stop()
        await test.provider.stop()
    }

    @Test func `a stop answers a callback that waits for its provider with 503`() async throws {
        let test = try await start()
        let customer = test.customer()
        let message = try await test.ask(customer)
        let query = try await test.query(for: message)
        test.provider.misbehave(.slow(.token, .seconds(300)))
        async let answer = test.browse("/auth/one/callback?" + query)
        #expect(await eventually { test.provider.requestCount(.token) == 1 })
        #expect(await test.server.stopServer(within: .seconds(60), grace: .seconds(4)))
        #expect(try await answer.header("location") == Self.failure(503))
        await test.stop()
    }

    @Test func `a refused sign-in that an operator retries has a new state, and the old one is void`()
        async throws
    {
        let test = try await start()
        let customer = test.customer()
        // Refused only when the request is open for the first state, which the test reads meanwhile.
        test.server.gateway.misbehave(at: .authenticate, .answer(.serviceUnavailable, retryAfterSeconds: 1))
        test.server.gateway.misbehave(at: .authenticate, .answer(.badRequest))
        #expect(try await customer.post(customer.message(.text, text: "Hello")).status == 200)
        #expect(try await eventually { try !test.requests().isEmpty })
        let drawn = try test.requests().first?.root["payload"]?["state"]?.string
        let old = try #require(drawn)
        #expect(try await eventually { try test.requests().isEmpty })
        var dead: [JournalReply] = []
        #expect(
            try await eventually {
                dead = []
                try JournalFiles(dataDirectory: test.server.configuration.dataDirectory)
                    .forEachReply(where: { $0.isDeadLetter }) { dead.append($0) }
                return dead.count == 1
            })
        let reply = try #require(dead.first?.id)
        let retried = try await test.server.control(
            "/replies/retry", method: "POST", body: Array(#"{"job":"a","replies":["\#(reply)"]}"#.utf8))
        #expect(retried.status == 200)
        let message = try #require(
            await test.server.gateway.waitForMessages(customer: customer.id).first?.message)
        let new = try #require(message.oauth2?["state"]?.string)
        #expect(new != old)
        let void = try await test.browse("/auth/one/callback?code=c&state=\(old)")
        #expect(void.header("location") == Self.failure(400))
        let outcome = try await test.signIn(customer, message)
        #expect(try await test.report(outcome, customer, message) == "welcome user-alice")
        await test.stop(secrets: [old, new])
    }

    @Test(arguments: [("authentication", nil), ("authentication-classic", SignInUnderTest.classic)])
    func `the message to the device has the members of Apple's sample`(
        sample: String, device: Capabilities?
    ) async throws {
        let apple = try JSONDocument(Fixture.bytes("outbound/\(sample).json"))
        let test = try await SignInUnderTest()
        let message = try await test.ask(test.customer(device))
        func names(_ value: JSONValue?) -> Set<String> { Set(value?.members.map { "\($0.0)" } ?? []) }
        #expect(names(message.oauth2) == names(apple.oauth2))
        let (ours, theirs) = (message.root["interactiveData"], apple.root["interactiveData"])
        #expect(names(ours).isSubset(of: names(theirs)))
        #expect(names(ours?["data"]) == names(theirs?["data"]).subtracting(["images"]))
        #expect(ours?["bid"]?.string == theirs?["bid"]?.string)
        #expect(ours?["data"]?["version"]?.string == theirs?["data"]?["version"]?.string)
        await test.stop()
    }

    /// Replaces the file of the only request with a pipe, so that each read of it waits; returns the pipe's path.
    private func hang(_ test: SignInUnderTest) throws -> String {
        let path = try #require(try test.requestFiles().first)
        try Directory.remove(path)
        try #require(mkfifo(path, 0o600) == 0)
        return path
    }

    /// Opens the pipe for writing, which ends the waits of its readers.
    private func endWaits(for pipe: String) { close(open(pipe, O_RDWR)) }

    @Test func `while the disk hangs a confirmation fails with 503 after its five seconds`() async throws {
        let test = try await SignInUnderTest()
        let message = try await test.ask(test.customer())
        let page = try await test.browse("/auth/one/callback?" + test.query(for: message))
        let html = String(decoding: page.body, as: UTF8.self)
        let start = try #require(html.firstRange(of: #"name="value" value=""#)?.upperBound)
        let value = html[start...].prefix { $0 != "\"" }
        let pipe = try hang(test)
        let answer = try await test.browse("/auth/one/confirm", form: "value=" + value)
        #expect(answer.header("location") == Self.failure(503))
        endWaits(for: pipe)
        await test.stop()
    }

    @Test func `while the disk hangs a question about a key fails with 503 after its second`() async throws {
        let test = try await start()
        let message = try await test.ask(test.customer(SignInUnderTest.classic))
        let key = try #require(message.oauth2?["responseEncryptionKey"]?.string)
        let isOpen = { try test.requests().first?.root["phase"]?.string == "open" }
        #expect(try await eventually { try isOpen() })
        let pipe = try hang(test)
        var request = TransportRequest(
            method: "POST", url: test.server.url + "/auth/one/key",
            body: Array("responseEncryptionKey=\(key)".utf8), allowsPlainHTTP: true)
        request.headers = [("authorization", "Bearer " + SignInUnderTest.auditToken)]
        #expect(try await test.server.transport.send(request).status == 503)
        endWaits(for: pipe)
        await test.stop()
    }

    @Test(arguments: [
        (ProviderFault.refusesGrant, ["pkce 1", "nonce 0"]),
        (.idToken(.missingNonce), ["pkce 0", "nonce 1"]),
        (.html(.token), ["pkce 0", "nonce 0"]),
    ])
    func `a provider that seems not to support a setting is counted under the setting`(
        fault: ProviderFault, counts: [String]
    ) async throws {
        let test = try await SignInUnderTest(
            adjust: { $0.asksToConfirm = false },
            change: { $0.adminListen = .required(.tcp(host: "127.0.0.1", port: 0)) })
        let message = try await test.ask(test.customer())
        let query = try await test.query(for: message)
        test.provider.misbehave(fault)
        _ = try await test.browse("/auth/one/callback?" + query)
        let metrics = try await test.server.transport.send(
            TransportRequest(url: (test.server.adminURL ?? "") + "/metrics", allowsPlainHTTP: true))
        let lines = String(decoding: metrics.body, as: UTF8.self).split(separator: "\n")
        for count in counts {
            let parts = count.split(separator: " ")
            #expect(
                lines.contains(
                    #"balloon_sign_in_suspected_settings_total{setting="\#(parts[0])"} \#(parts[1])"#[...]))
        }
        await test.stop()
    }
}
