import BalloonJSON
import BalloonTransport
import BusinessMessages
import MessageServer
import ServerTestSupport
import SignIn
import Simulator
import TestSupport
import Testing

/// Version 2 with bad callbacks, and with a provider that misbehaves.
struct SignInBadInputTests {
    private static func failure(_ code: Int) -> String {
        "messages-auth://?status=failure&error_code=\(code)"
    }

    /// A fault of the provider, the code of the failure, and whether the code of the callback reached the provider.
    private static let faults: [(ProviderFault, Int, exchanges: Int)] =
        [
            (.html(.token), 502, 1), (.large(.token, bytes: 2 << 20), 502, 1), (.redirects(.token), 502, 1),
            (.truncates(.token), 502, 1), (.omitsIDToken, 502, 1), (.fails(.token, 500), 502, 1),
            (.refusesGrant, 502, 1), (.html(.keys), 502, 1), (.html(.userinfo), 502, 1),
            (.signsUserinfo, 502, 1), (.otherPerson, 401, 1), (.wrongDiscovery, 502, 0),
            (.wrongIssuer, 400, 0), (.omitsIssuer, 400, 0), (.idToken(.encrypted), 502, 1),
        ]
        + IDTokenFault.allCases.filter { $0 != .encrypted }.map { (.idToken($0), 401, 1) }

    @Test(arguments: faults)
    func `a fault of the provider fails with its code, and the handler gets no identity`(
        fault: ProviderFault, code: Int, exchanges: Int
    ) async throws {
        let test = try await SignInUnderTest { $0.asksToConfirm = false }
        let customer = test.customer()
        let message = try await test.ask(customer)
        test.provider.misbehave(fault)
        let query = try await test.query(for: message)
        let answer = try await test.browse("/auth/one/callback?" + query)
        #expect(answer.header("location") == Self.failure(code))
        #expect(answer.header("cache-control") == "no-store")
        #expect(test.provider.requestCount(.token) == exchanges)
        test.provider.behave()
        // The code is spent, but a failure before the request was consumed leaves it usable.
        if exchanges == 1 {
            let again = try await test.browse("/auth/one/callback?" + query)
            #expect(again.header("location") == Self.failure(400))
            #expect(test.provider.requestCount(.token) == exchanges)
        }
        let outcome = DeviceSignIn.Outcome.ended(status: "failure", errorCode: "\(code)")
        #expect(try await test.report(outcome, customer, message) == "failed \(code)")
        await test.stop(secrets: ["user-alice"] + Array(test.provider.secrets))
    }

    @Test func `a malformed callback fails with 400, exchanges nothing and uses no state`() async throws {
        let test = try await SignInUnderTest(
            adjust: { $0.asksToConfirm = false },
            change: { $0.businesses[1].authentication = $0.businesses[0].authentication })
        let customer = test.customer()
        let message = try await test.ask(customer)
        let query = try await test.query(for: message)
        let state = try #require(message.oauth2?["state"]?.string)
        let long = String(repeating: "a", count: 65_536)
        let malformed = [
            "", "state=\(state)", "code=a", "code=a&code=b&state=\(state)",
            "code=a&error=access_denied&state=\(state)", "code=a%00b&state=\(state)",
            "code=%zz&state=\(state)",
            "code=a&state=\(state)&state=\(state)", "code=a&state=\(String(repeating: "s", count: 513))",
            "code=a&state=unknown", "code=a&state=\(state)&iss=https%3A%2F%2Fattacker.example",
        ]
        for text in malformed {
            let got = try await test.browse("/auth/one/callback?" + text)
            #expect(got.header("location") == Self.failure(400) || got.status == 400, "\(text)")
            let posted = try await test.browse("/auth/one/callback", form: text)
            #expect(posted.header("location") == Self.failure(400), "\(text)")
        }
        let tooLong = try await test.browse("/auth/one/callback?code=\(long)&state=\(state)")
        #expect(tooLong.status == 414)
        #expect(
            try await test.browse("/auth/one/callback", form: "code=\(long)&state=\(state)").status == 413)
        #expect(try await test.browse("/auth/two/callback?" + query).header("location") == Self.failure(400))
        #expect(test.provider.requestCount(.token) == 0)
        let answer = try await test.browse("/auth/one/callback?" + query)
        #expect(answer.header("location") == "messages-auth://?status=success")
        let success = DeviceSignIn.Outcome.ended(status: "success", errorCode: nil)
        #expect(try await test.report(success, customer, message) == "welcome user-alice")
        #expect(test.provider.requestCount(.token) == 1)
        await test.stop()
    }

    @Test func `a sign-in that began before a restart is completed after it, once`() async throws {
        let directory = TemporaryDirectory()
        let test = try await SignInUnderTest(in: directory) { $0.asksToConfirm = false }
        let customer = test.customer()
        let message = try await test.ask(customer)
        let query = try await test.query(for: message)
        await test.server.stop()
        let authentication = test.server.configuration.businesses[0].authentication
        let restarted = try await ServerUnderTest(WelcomingHandler(), directory: directory) {
            $0.businesses[0].authentication = authentication
        }
        func browse() async throws -> String? {
            try await restarted.transport.send(
                TransportRequest(
                    url: restarted.url + "/auth/one/callback?" + query, allowsPlainHTTP: true)
            ).header("location")
        }
        #expect(try await browse() == "messages-auth://?status=success")
        #expect(try await browse() == Self.failure(400))
        #expect(test.provider.requestCount(.token) == 1)
        await restarted.stop()
        await test.provider.stop()
    }
}
