import BalloonPOSIX
import BalloonWire
import MessageStore
import Testing

@testable import MessageServer

/// Checks of a request's head: token, `Host`, quota and entity tags.
@Suite struct APIGateTests {
    private static let token = APIToken(
        name: "crm", digest: SHA256.hash(Array("bln_good".utf8)), businesses: ["one"], rights: [.read])

    private func token(
        in authorization: String?, isRepeated: Bool = false, among tokens: [APIToken] = [Self.token]
    ) throws(APIProblem) -> APIToken {
        try APIGate.token(
            in: authorization.map { Array($0.utf8)[...] }, isRepeated: isRepeated, among: tokens)
    }

    @Test(arguments: ["Bearer bln_good", "bearer bln_good", "BEARER  bln_good"])
    func `a known token is recognized whatever the case of its scheme`(authorization: String) throws {
        #expect(try token(in: authorization).name == "crm")
    }

    @Test(arguments: [
        nil, "", "Bearer", "Bearer ", "Bearer bln_goo", "Bearer bln_good ", "Bearer bln_good1",
        "Bearer BLN_GOOD",
        "bln_good", "Basic Y3JtOmJsbl9nb29k", "Token bln_good", "Bearer bln_good,bln_good",
    ])
    func `a wrong Authorization field is answered with unauthenticated and a challenge`(
        authorization: String?
    ) {
        let problem = #expect(throws: APIProblem.self) {
            _ = try token(in: authorization)
        }
        #expect(problem?.kind == .unauthenticated)
        #expect(problem?.fields.first?.name == "WWW-Authenticate")
        #expect(problem?.fields.first?.value.hasPrefix("Bearer realm=") == true)
    }

    @Test func `an issued token is accepted when the object printed with it is configured`() throws {
        let (text, object) = try #require(
            APIToken.issue(
                name: "crm", businesses: ["demo"], rights: [.send, .read],
                person: Person(id: "agent-7", name: "Ana")))
        #expect(text.hasPrefix("bln_") && text.utf8.count == 4 + 43 && !object.contains(text))
        let server = #"{"mspID":"m","secret":{"env":"BALLOON_SECRET"},"api":{"tokens":[\#(object)]}}"#
        let configuration = try ConfigurationFiles(server: server).load().api
        let token = try self.token(in: "Bearer \(text)", among: configuration.tokens)
        #expect(token.name == "crm" && token.businesses == ["demo"] && token.rights == [.read, .send])
        #expect(token.person == Person(id: "agent-7", name: "Ana") && !token.supervises)
        #expect(APIToken.issue(name: "a b", businesses: [], rights: [.read]) == nil)
        #expect(APIToken.issue(name: "a", businesses: ["A"], rights: [.read]) == nil)
    }

    @Test(arguments: [
        (#"{"name":"Ana"}"#, #": has no "id""#), (#"{"id":""}"#, "/id: is empty, too long"),
        (#"{"id":"a","nmae":"Ana"}"#, "/nmae: is not a known key"), ("7", ": is not an object"),
    ])
    func `a token's person without an identifier, or with other members, is a problem`(
        person: String, problem: String
    ) throws {
        let hash = String(repeating: "0", count: 64)
        let server =
            #"{"mspID":"m","secret":{"env":"BALLOON_SECRET"},"api":{"tokens":"#
            + #"[{"name":"a","sha256":"\#(hash)","may":["read"],"person":\#(person)}]}}"#
        let problems = try ConfigurationFiles(server: server).problems()
        #expect(problems.count == 1 && problems[0].contains("/api/tokens/0/person" + problem), "\(problems)")
    }

    @Test func `an unknown business, and tokens with equal names or hashes, are problems`() throws {
        let hash = String(repeating: "0", count: 64)
        let token = { (name: String, more: String) in
            #"{"name":"\#(name)","sha256":"\#(hash)","may":["read"]\#(more)}"#
        }
        let tokens = [token("a", #","businesses":["dmo"]"#), token("a", "")].joined(separator: ",")
        let server = #"{"mspID":"m","secret":{"env":"BALLOON_SECRET"},"api":{"tokens":[\#(tokens)]}}"#
        let problems = try ConfigurationFiles(server: server).problems()
        #expect(problems.count == 3)
        for problem in [
            "/0/businesses/0: is not the slug", "/1/name: is the name of two", "/1/sha256: is the hash",
        ] {
            #expect(problems.contains { $0.contains("/api/tokens" + problem) }, "\(problems)")
        }
    }

    @Test func `a repeated Authorization field is answered with unauthenticated`() {
        #expect(throws: APIProblem.self) {
            _ = try token(in: "Bearer bln_good", isRepeated: true)
        }
    }

    @Test(arguments: [
        ("127.0.0.1:8081", "127.0.0.1:8081", true), ("localhost:8081", "127.0.0.1:8081", true),
        ("LOCALHOST:8081", "127.0.0.1:8081", true), ("[::1]:8081", "127.0.0.1:8081", true),
        ("127.0.0.1:8082", "127.0.0.1:8081", false), ("127.0.0.1", "127.0.0.1:8081", false),
        ("evil.example:8081", "127.0.0.1:8081", false),
        ("127.0.0.1.evil.example:8081", "127.0.0.1:8081", false),
        ("10.0.0.7:8081", "127.0.0.1:8081", false), ("10.0.0.7:8081", "10.0.0.7:8081", true),
        ("localhost:8081", "10.0.0.7:8081", false), ("10.0.0.7:8081", "0.0.0.0:8081", true),
        ("balloon.example:8081", "0.0.0.0:8081", false), ("desk.example.com", "127.0.0.1:8081", true),
        ("Desk.Example.com", "127.0.0.1:8081", true), ("desk.example.com:8081", "127.0.0.1:8081", false),
        ("10.0.0.7", "10.0.0.7:80", true), (":8081", "0.0.0.0:8081", false), ("", "127.0.0.1:8081", false),
        ("localhost", "unix:/tmp/admin", true), ("evil.example", "unix:/tmp/admin", false),
    ])
    func `only a Host with the listener's own address or a configured name is accepted`(
        host: String, listener: String, isOwn: Bool
    ) throws {
        let address = try #require(SocketAddress(listener))
        #expect(
            APIGate.isOwn(host: host, listener: address, isSecure: false, names: ["desk.example.com"])
                == isOwn)
    }

    @Test func `Host without a port names the default port of the scheme`() throws {
        let address = try #require(SocketAddress("10.0.0.7:443"))
        #expect(APIGate.isOwn(host: "10.0.0.7", listener: address, isSecure: true, names: []))
        #expect(!APIGate.isOwn(host: "10.0.0.7", listener: address, isSecure: false, names: []))
        #expect(!APIGate.isOwn(host: nil, listener: address, isSecure: true, names: []))
    }

    @Test func `the first request beyond a minute's quota exceeds it, and a new minute renews the quota`() {
        let start = ContinuousClock.now
        var quota = RequestQuota(now: start)
        #expect(quota.count(limit: 2, now: start).remaining == 1)
        #expect(!quota.count(limit: 2, now: start + .seconds(30)).isExceeded)
        let exceeded = quota.count(limit: 2, now: start + .milliseconds(50_500))
        #expect(exceeded.isExceeded && exceeded.remaining == 0 && exceeded.resetSeconds == 10)
        #expect(!quota.count(limit: 2, now: start + .seconds(60)).isExceeded)
    }

    @Test func `the eleventh invalid token of an address in a minute exceeds its quota`() {
        let start = ContinuousClock.now
        var failures = FailedAttempts(now: start)
        let peer = PeerAddress()
        for _ in 0..<10 { #expect(!failures.count(peer, now: start).isExceeded) }
        #expect(failures.count(peer, now: start).isExceeded)
        #expect(!failures.count(peer, now: start + .seconds(60)).isExceeded)
    }

    @Test(arguments: [
        ("\"a\"", "\"a\"", true), ("\"a\"", "\"b\", \"a\"", true), ("\"a\"", "W/\"a\"", true),
        ("\"a\"", "*", true),
        ("\"a\"", "\"b\"", false), ("\"a\"", "a", false),
    ])
    func `a list of entity tags matches equal tags`(tag: String, list: String, isMatch: Bool) {
        #expect(EntityTag.isMatch(tag, list) == isMatch)
        #expect(!EntityTag.isMatch(tag, nil))
    }
}
