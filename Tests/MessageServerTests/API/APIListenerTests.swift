import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import ServerTestSupport
import TestSupport
import Testing

@testable import MessageServer

/// The business API on the admin listener.
@Suite struct APIListenerTests {
    @Test func `a token lists its businesses, and the answer tells its quota`() async throws {
        let server = try await ServerUnderTest.withAPI()
        let all = try await server.api("/v1/businesses")
        #expect(all.status == 200)
        #expect(try all.json["businesses"]?.elements.map { $0["slug"]?.string } == ["one", "two"])
        #expect(all.header("RateLimit-Policy") == "\"token\";q=600;w=60")
        #expect(all.header("RateLimit")?.hasPrefix("\"token\";r=599;t=") == true)
        #expect(all.header("Cache-Control") == "no-store")
        let one = try await server.api("/v1/businesses", TestTokens.operatorOfOne)
        #expect(try one.json["businesses"]?.elements.map { $0["slug"]?.string } == ["one"])
        await server.stop(secrets: ["bln_"])
    }

    @Test func `requests without a valid token get 401, and a valid token works after many of them`()
        async throws
    {
        let server = try await ServerUnderTest.withAPI()
        for attempt in 0..<12 {
            let answer = try await server.api("/v1/businesses", attempt == 0 ? nil : "bln_wrong")
            #expect(answer.status == (attempt < 10 ? 401 : 429), "attempt \(attempt)")
            #expect(answer.problem == (attempt < 10 ? "unauthenticated" : "too-many-failures"))
            let challenge = attempt < 10 ? "WWW-Authenticate" : "Retry-After"
            #expect(answer.header(challenge) != nil)
        }
        #expect(try await server.api("/v1/businesses").status == 200)
        await server.stop(secrets: ["bln_"])
    }

    @Test func `a refusal's reference is also in its log line, which names the token`()
        async throws
    {
        let server = try await ServerUnderTest.withAPI()
        let answer = try await server.api("/v1/businesses", TestTokens.sender)
        #expect(answer.status == 403 && answer.problem == "right-missing")
        let reference = try #require(try answer.json["reference"]?.string)
        let line = try #require(server.log.lines.first { $0.contains(reference) })
        #expect(line.contains("sender") && line.contains("/v1/businesses"))
        await server.stop(secrets: ["bln_"])
    }

    @Test func `an unknown parameter is refused, and the answer names it`() async throws {
        let server = try await ServerUnderTest.withAPI()
        let answer = try await server.api("/v1/businesses?colour=blue")
        #expect(answer.status == 400 && answer.problem == "unknown-parameter")
        #expect(try answer.json["parameter"]?.string == "colour")
        await server.stop()
    }

    @Test func `a request with a foreign Host gets misdirected before its token is checked`() async throws {
        let server = try await ServerUnderTest.withAPI { $0.api.hosts = ["desk.example.com"] }
        let evil = try await server.api("/v1/businesses", headers: [("Host", "evil.example")])
        #expect(evil.status == 421 && evil.problem == "misdirected")
        let known = try await server.api("/v1/businesses", headers: [("Host", "desk.example.com")])
        #expect(known.status == 200)
        await server.stop()
    }

    @Test
    func
        `ten refusals a minute of an address without a known token are logged, further ones for debugging only`()
        async throws
    {
        let server = try await ServerUnderTest.withAPI()
        for _ in 0..<20 {
            _ = try await server.api("/v1/businesses", headers: [("Host", "evil.example")])
        }
        let refused = server.log.lines.filter {
            $0.contains("API request refused") && $0.contains("misdirected")
        }
        #expect(refused.count == 20)
        #expect(refused.count { $0.contains("info") } == 10)
        await server.stop()
    }

    @Test func `an unsupported method is refused with the allowed methods, and an unknown path is not found`()
        async throws
    {
        let server = try await ServerUnderTest.withAPI()
        let other = try await server.api("/v1/businesses", method: "DELETE")
        #expect(other.status == 405 && other.problem == "method-not-allowed")
        #expect(other.header("Allow") == "GET, HEAD, OPTIONS")
        let unknown = try await server.api("/v1/business")
        #expect(unknown.status == 404 && unknown.problem == "not-found")
        #expect(try await server.api("/livez").status == 200)
        await server.stop()
    }

    @Test func `a web page of a configured origin may read answers, and a page of another origin may not`()
        async throws
    {
        let origin = "https://desk.example.com"
        let server = try await ServerUnderTest.withAPI { $0.api.origins = [origin] }
        let asks = [(name: "Origin", value: origin), ("Access-Control-Request-Method", "GET")]
        let preflight = try await server.api("/v1/businesses", nil, method: "OPTIONS", headers: asks)
        #expect(preflight.status == 204)
        #expect(preflight.header("Access-Control-Allow-Origin") == origin)
        #expect(preflight.header("Access-Control-Allow-Headers")?.contains("Authorization") == true)
        let answer = try await server.api("/v1/businesses", headers: [("Origin", origin)])
        #expect(answer.header("Access-Control-Allow-Origin") == origin)
        let evil = [
            (name: "Origin", value: "https://evil.example"), ("Access-Control-Request-Method", "GET"),
        ]
        for method in ["OPTIONS", "GET"] {
            let answer = try await server.api("/v1/businesses", method: method, headers: evil)
            #expect(answer.header("Access-Control-Allow-Origin") == nil)
            #expect(answer.header("Vary") == "Origin")
        }
        await server.stop()
    }

    @Test func `without configured origins no answer has CORS fields`() async throws {
        let server = try await ServerUnderTest.withAPI()
        let origin = [(name: "Origin", value: "https://desk.example.com")]
        for method in ["OPTIONS", "GET"] {
            let answer = try await server.api("/v1/businesses", method: method, headers: origin)
            #expect(!answer.headers.contains { $0.name.lowercased().hasPrefix("access-control") })
        }
        await server.stop()
    }

    @Test func `a token over its quota is told to wait, and another token is not affected`() async throws {
        let server = try await ServerUnderTest.withAPI { $0.api.requestsPerMinute = 2 }
        for status in [200, 200, 429] {
            let answer = try await server.api("/v1/businesses")
            #expect(answer.status == status)
            #expect((answer.header("Retry-After") != nil) == (status == 429))
        }
        #expect(try await server.api("/v1/businesses", TestTokens.reader).status == 200)
        await server.stop()
    }

    @Test func `a server without tokens has no API, and a reload adds and removes it at once`() async throws {
        let server = try await ServerUnderTest.withAPI { $0.api = APIConfiguration() }
        #expect(try await server.api("/v1/businesses").status == 404)
        var configuration = server.configuration
        configuration.api = TestTokens.configuration
        await server.reload { [configuration] () throws(ConfigurationError) in configuration }
        #expect(try await server.api("/v1/businesses").status == 200)
        configuration.api.tokens.removeFirst()
        await server.reload { [configuration] () throws(ConfigurationError) in configuration }
        #expect(try await server.api("/v1/businesses").status == 401)
        await server.stop()
    }

    @Test func `every operation refuses every wrong token`() async throws {
        let server = try await ServerUnderTest.withAPI()
        let document = try await server.api("/v1/openapi.json").json
        let path = { (template: String) in
            template.replacing("{slug}", with: "two").replacing(
                "{c}", with: String(repeating: "a", count: 64)
            )
            .replacing("{record}", with: "1").replacing("{id}", with: "1.1").replacing("{n}", with: "0")
        }
        let rights: [(APIRight, String)] = [(.read, TestTokens.reader), (.send, TestTokens.sender)]
        var (failures, operations) = (0, 0)
        for (template, item) in try #require(document["paths"]).members {
            for (method, operation) in item.members {
                operations += 1
                let send = { (token: String?) in
                    try await server.api(path(template), token, method: method.uppercased())
                }
                for token in [nil, "", "bln_", "bln_al", "BLN_ALL", "bln_all2", TestTokens.all.uppercased()] {
                    let answer = try await send(token)
                    #expect(answer.status == (failures < 10 ? 401 : 429), "\(method) \(template)")
                    failures += 1
                }
                let needed = try #require(operation["description"]?.string)
                for (right, token) in rights where !needed.contains("right \(right.rawValue)") {
                    #expect(try await send(token).problem == "right-missing", "\(method) \(template)")
                }
                guard template.contains("{slug}") else { continue }
                let problem = try await send(TestTokens.operatorOfOne).problem
                #expect(problem == (needed.contains("right send") ? "right-missing" : "not-found"))
            }
        }
        #expect(operations >= 13)
        await server.stop(secrets: ["bln_", "BLN_"])
    }

    @Test func `the manual has a section for each problem, and each operation`() async throws {
        let server = try await ServerUnderTest.withAPI()
        let document = try await server.api("/v1/openapi.json").json
        let root = Fixture.directory.split(separator: "/Tests/").first.map(String.init) ?? ""
        let file = root + "/Sources/MessageServer/MessageServer.docc/BusinessAPI.md"
        let page = String(decoding: try File(file, for: .reading).readAll(), as: UTF8.self)
        let source = root + "/Sources/MessageServer/API/APIProblem.swift"
        let kinds = String(decoding: try File(source, for: .reading).readAll(), as: UTF8.self)
            .matches(of: /static let \w+ = Self\(\s*"([a-z-]+)"/).map(\.1)
        #expect(kinds.count >= 29)
        for kind in kinds { #expect(page.contains("\n### \(kind)\n"), "\(kind)") }
        for (template, item) in try #require(document["paths"]).members {
            for (method, _) in item.members {
                let short = template.replacing("/v1/businesses/{slug}", with: "…")
                #expect(page.contains("| `\(method.uppercased()) \(short)"), "\(method) \(template)")
            }
        }
        await server.stop()
    }

    @Test func `the document describes the stream of events, and close without a body`() async throws {
        let server = try await ServerUnderTest.withAPI()
        let document = try await server.api("/v1/openapi.json").json
        let events = try #require(document["paths"]?["/v1/events"]?["get"])
        let content = events["responses"]?["200"]?["content"]
        #expect(content?["text/event-stream"]?["schema"]?["type"]?.string == "string")
        #expect(
            content?["application/json"]?["schema"]?["$ref"]?.string == "#/components/schemas/EventPage")
        let names = events["parameters"]?.elements.compactMap { $0["name"]?.string } ?? []
        #expect(Set(["Last-Event-ID", "Prefer", "after", "business", "type"]).isSubset(of: names))
        let types = document["components"]?["schemas"]?["Event"]?["properties"]?["type"]?["enum"]?.elements
            .compactMap(\.string)
        #expect(Set(["message.received", "typing", "stream.reset"]).isSubset(of: types ?? []))
        let conversation = document["paths"]?["/v1/businesses/{slug}/conversations/{c}/close"]?["post"]
        #expect(conversation?["requestBody"]?["required"]?.bool == false)
        await server.stop()
    }

    @Test func `a GET whose If-None-Match names the current content gets 304 without a body`() async throws {
        let server = try await ServerUnderTest.withAPI()
        let first = try await server.api("/v1/businesses")
        let tag = try #require(first.header("ETag"))
        let second = try await server.api("/v1/businesses", headers: [("If-None-Match", "\"other\", \(tag)")])
        #expect(second.status == 304 && second.body.isEmpty && second.header("ETag") == tag)
        #expect(second.header("Content-Length") == nil)
        #expect(
            try await server.api("/v1/businesses", headers: [("If-None-Match", "\"other\"")]).status == 200)
        await server.stop()
    }
}
