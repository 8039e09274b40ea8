import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import Logging
import Simulator
import Synchronization
import Testing

/// A business's callback: a page that asks for confirmation, and the redirect to the device.
private final class Callback: Sendable {
    let queries = Mutex<[String]>([])

    func start() async throws -> (server: HTTPServer, origin: String) {
        let routes = [
            HTTPRoute(.get, "/callback") { [self] request, _ in
                let query = String(decoding: request.query, as: UTF8.self)
                queries.withLock { $0.append(query) }
                if query.contains("error=") { return Self.redirect("cancel&error_code=403") }
                let page =
                    #"<form action="/confirm" method="post"><input type="hidden" name="v" value="a&amp;b">"#
                    + #"<button>Yes</button></form>"#
                return HTTPResponse(.ok, contentType: "text/html", body: Array(page.utf8))
            },
            HTTPRoute(.post, "/confirm", body: .collected(maximumBytes: 100)) { request, _ in
                let isExpected = request.body.elementsEqual("v=a%26b".utf8)
                return Self.redirect(isExpected ? "success" : "failure&error_code=400")
            },
        ]
        let server = try HTTPServer(
            listeners: [HTTPListener(.tcp(host: "127.0.0.1", port: 0), routes: routes)], shards: 1,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        return (server, "http://\(try await server.start()[0])")
    }

    private static func redirect(_ status: String) -> HTTPResponse {
        HTTPResponse(
            HTTPStatus(code: 302) ?? .ok, fields: [("Location", "messages-auth://?status=\(status)")])
    }
}

@Suite struct DeviceSignInTests {
    private let customer = CustomerID("urn:mbid:a+b=")

    private func message(_ oauth: String) throws -> JSONDocument {
        try JSONDocument(
            Array(
                """
                {"id":"m1","type":"interactive","sourceId":"b","destinationId":"urn:mbid:a+b=","interactiveData":{"data":
                {"version":"2.0","requestIdentifier":"r1","authenticate":{"oauth2":\(oauth)}}}}
                """.utf8))
    }

    private func started() async throws -> (fake: FakeProvider, registration: DeviceSignIn.Registration) {
        let secret = try Secret(Array("secret".utf8))
        let fake = try FakeProvider(
            clients: ["shop": secret], signing: .es256,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let origin = "http://\(try await fake.start())"
        let registration = DeviceSignIn.Registration(
            authorizationURL: origin + "/authorize", tokenURL: origin + "/token", clientID: "shop")
        return (fake, registration)
    }

    @Test(arguments: [false, true])
    func `a device of version 2 follows the pages to messages-auth and reports their status`(
        declines: Bool
    ) async throws {
        let (fake, registration) = try await started()
        let callback = Callback()
        let (server, origin) = try await callback.start()
        let request = try message(
            #"{"responseType":"code","scope":["openid","email"],"state":"s&1","redirectURI":"\#(origin)/callback","#
                + #""additionalParameters":"code_challenge=abc&code_challenge_method=S256&nonce=n"}"#)
        var account = DeviceSignIn.Account(user: "alice")
        account.declines = declines
        let signIn = try DeviceSignIn(to: request, at: registration, as: account, customer: customer)
        let outcome = try await signIn.run(over: CurlTransport())
        #expect(
            outcome
                == (declines
                    ? .ended(status: "cancel", errorCode: "403") : .ended(status: "success", errorCode: nil)))
        let query = try #require(callback.queries.withLock { $0.first })
        #expect(query.contains("state=s%261"))
        #expect(query.contains(declines ? "error=access_denied" : "code="))
        #expect(query.contains("iss=http"))

        let event = try JSONDocument(DeviceAnswer(to: DeviceOffer(request), reporting: outcome).json)
        let data = try #require(event.root["interactiveData"]?["data"])
        #expect(data["requestIdentifier"]?.string == "r1")
        #expect(data["authenticate"]?["status"]?.string == (declines ? "cancel" : "success"))
        #expect(data["authenticate"]?["error_code"]?.string == (declines ? "403" : nil))
        await server.stop(within: .zero)
        await fake.stop()
    }

    @Test func `a device of version 1 exchanges the code and encrypts the token to the request's key`()
        async throws
    {
        let (fake, registration) = try await started()
        let pair = try P384KeyPair()
        let request = try message(
            #"{"responseType":"code","scope":["email"],"state":"s","clientSecret":"secret","responseEncryptionKey":""#
                + Base64.encode(pair.point) + #""}"#)
        let signIn = try DeviceSignIn(
            to: request, at: registration, as: DeviceSignIn.Account(user: "alice"), customer: customer)
        #expect(signIn.address.contains("&userHandle=urn%3Ambid%3Aa%2Bb%3D"))
        let outcome = try await signIn.run(over: CurlTransport())
        guard case .authenticated(let token) = outcome else {
            Issue.record("the outcome is \(outcome)")
            return
        }
        let opened = try ECIES.open(try #require(Base64.decode(token)), scalar: pair.scalar)
        let userinfo = try await CurlTransport().send(
            TransportRequest(
                url: (fake.issuer ?? "") + "/userinfo",
                headers: [("authorization", "Bearer " + String(decoding: opened, as: UTF8.self))],
                allowsPlainHTTP: true))
        #expect(userinfo.status == 200)
        await fake.stop()
    }

    @Test func `a page without a form or a redirect stops the sign-in`() async throws {
        let (fake, registration) = try await started()
        fake.misbehave(.html(.authorize))
        let request = try message(
            #"{"responseType":"code","scope":["a"],"state":"s","redirectURI":"http://x/"}"#)
        let signIn = try DeviceSignIn(
            to: request, at: registration, as: DeviceSignIn.Account(user: "alice"), customer: customer)
        await #expect(throws: SimulatorError.signInStopped(status: 200)) {
            try await signIn.run(over: CurlTransport())
        }
        await fake.stop()
    }
}
