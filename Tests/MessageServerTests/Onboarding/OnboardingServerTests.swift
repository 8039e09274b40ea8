import BalloonPOSIX
import BalloonTransport
import MessageServer
import ServerTestSupport
import TestSupport
import Testing

/// The landing page through the whole server.
@Suite struct OnboardingServerTests {
    private func start(landing: Bool = true) async throws -> ServerUnderTest {
        try await ServerUnderTest(WelcomingHandler()) { $0.hasLandingPage = landing }
    }

    private func browse(
        _ server: ServerUnderTest, _ path: String, form: String? = nil, method: String? = nil,
        from client: String? = nil
    ) async throws -> TransportResponse {
        var request = TransportRequest(
            method: method ?? (form == nil ? "GET" : "POST"), url: server.url + path,
            body: Array((form ?? "").utf8), allowsPlainHTTP: true)
        if form != nil { request.headers = [("content-type", "application/x-www-form-urlencoded")] }
        if let client { request.headers.append(("x-forwarded-for", "spoofed.example, \(client)")) }
        return try await server.transport.send(request)
    }

    private func claims(_ server: ServerUnderTest) throws -> [(name: String, claim: OnboardingClaim)] {
        try OnboardingClaims(dataDirectory: server.configuration.dataDirectory).claims(at: .now()).claims
    }

    @Test func `a brand sends the form, and the claim is kept with a stranger's text as it is`() async throws
    {
        let server = try await start()
        let hostile = "name=%3Cscript%3Ealert(1)%3C/script%3E&logo=javascript:alert(1)%22%3E%3Cimg%3E"
        let page = try await browse(server, "/landing?id=b-7&\(hostile)")
        let html = String(decoding: page.body, as: UTF8.self)
        #expect(page.status == 200)
        for markup in ["<script", "<img", "href=", "src=", "javascript:alert(1)\""] {
            #expect(!html.contains(markup), "\(markup)")
        }
        #expect(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"))
        #expect(html.contains(#"value="javascript:alert(1)&quot;&gt;&lt;img&gt;""#))
        let policy = try #require(page.header("content-security-policy"))
        for rule in [
            "default-src 'none'", "base-uri 'none'", "form-action 'self';", "frame-ancestors 'none'",
        ] {
            #expect(policy.contains(rule), "\(rule)")
        }
        #expect(!policy.contains("script-src") && !policy.contains("unsafe") && !policy.contains("img-src"))
        #expect(page.header("cache-control") == "no-store")
        #expect(page.header("referrer-policy") == "no-referrer")
        #expect(try claims(server).isEmpty)

        let answer = try await browse(server, "/landing", form: "id=b-7&\(hostile)&contact=ana%40example.com")
        #expect(answer.status == 302 && answer.header("location") == "/landing/done")
        #expect(try await browse(server, "/landing/done").status == 200)
        let kept = try #require(try claims(server).first?.claim)
        #expect(kept.business == "b-7" && kept.name == "<script>alert(1)</script>")
        #expect(kept.logo == #"javascript:alert(1)"><img>"# && kept.contact == "ana@example.com")
        await server.stop(secrets: ["ana@example.com", "b-7", "alert(1)"])
    }

    @Test(arguments: [
        "", "?id=", "?name=Shop", "?id=a&id=b", "?id=a%00", "?id=%zz", "?id=a&name=%1B",
        "?id=" + String(repeating: "a", count: 129), "?id=a&logo=" + String(repeating: "a", count: 2049),
    ])
    func `an address without a usable id is refused with 400`(query: String) async throws {
        let server = try await start()
        #expect(try await browse(server, "/landing" + query).status == 400)
        let form = query.isEmpty ? "contact=c" : query.dropFirst() + "&contact=c"
        #expect(try await browse(server, "/landing", form: String(form)).status == 400)
        #expect(try claims(server).isEmpty)
        await server.stop()
    }

    @Test func `the sixth claim of an address and of a business gets 503, and others do not`() async throws {
        let server = try await start()
        for number in 1...5 {
            let form = "id=b-\(number)&contact=c"
            #expect(try await browse(server, "/landing", form: form, from: "192.0.2.1").status == 302)
        }
        let sixth = try await browse(server, "/landing", form: "id=b-6&contact=c", from: "192.0.2.1")
        #expect(sixth.status == 503 && sixth.header("retry-after") == "3600")
        for number in 2...5 {
            let client = "192.0.2.\(number)"
            #expect(
                try await browse(server, "/landing", form: "id=b-1&contact=c", from: client).status == 302)
        }
        let full = try await browse(server, "/landing", form: "id=b-1&contact=c", from: "192.0.2.6")
        #expect(full.status == 503)
        #expect(try claims(server).count == 9)
        await server.stop()
    }

    @Test func `other methods get 405, and a server without the setting has no page`() async throws {
        let server = try await start()
        for method in ["PUT", "DELETE"] {
            #expect(try await browse(server, "/landing", method: method).status == 405)
        }
        await server.stop()
        let closed = try await start(landing: false)
        for path in ["/landing?id=a", "/landing/done"] {
            #expect(try await browse(closed, path).status == 404)
        }
        #expect(try await browse(closed, "/landing", form: "id=a&contact=c").status == 404)
        #expect(!Directory.exists(closed.directory.file("data/onboarding")))
        await closed.stop()
    }

    @Test func `a claim that the disk refuses gets 503`() async throws {
        let server = try await start()
        try AtomicFile.write([], to: server.directory.file("data/onboarding"))
        #expect(try await browse(server, "/landing", form: "id=a&contact=c").status == 503)
        await server.stop()
    }
}
