import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonWire
import RetentionClient
import RetentionMessages
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import MessageServer

/// An endpoint without a server around it.
struct EndpointUnderTest {
    let app: AppUnderTest
    let time = TurnedClock()
    let log = LogCollector()
    let decisions: DecisionLog
    let endpoint: RetentionEndpoint

    init(
        _ app: AppUnderTest, threads: PublicKeyThreads = .shared, handler: RetentionResponder? = nil,
        clock: TimeSource? = nil, adjust: (inout AppConfiguration) -> Void = { _ in }
    ) throws {
        self.app = app
        decisions = DecisionLog(dataDirectory: app.directory.file("data"), logger: log.logger)
        let apps = RetentionApps(
            [try app.configuration(adjust)], handlers: handler.map { [AppUnderTest.slug: $0] } ?? [:],
            dataDirectory: app.directory.file("data"), logger: log.logger)
        endpoint = RetentionEndpoint(
            apps, decisions: decisions, logger: log.logger, threads: threads,
            clock: clock ?? time.clock)
    }

    func post(
        _ body: [UInt8], slug: String = AppUnderTest.slug, _ environment: RetentionEnvironment = .production
    ) async -> HTTPResponse {
        await endpoint.answer(body[...], slug: slug, environment)
    }

    func ask(_ request: RetentionRequest) async throws -> HTTPResponse {
        await post(try app.store.body(asking: request), request.environment)
    }
}

func text(_ response: HTTPResponse) -> String { String(decoding: response.body, as: UTF8.self) }

@Suite struct RetentionEndpointTests {
    @Test func `a question gets the message of the first rule for its locale`() async throws {
        let app = try AppUnderTest()
        try app.record(.approved)
        let endpoint = try EndpointUnderTest(app)
        let folder = try app.configuration().folder
        let bleib = try #require(folder.message("bleib")).id.text
        let answer = try await endpoint.ask(app.question(locale: "de-AT"))
        #expect(answer.status == .ok)
        #expect(text(answer) == #"{"message":{"messageIdentifier":"\#(bleib)"}}"#)
        let offer = try await endpoint.ask(app.question(2, locale: "en-US"))
        let object = try JSONDocument(offer.body).root["promotionalOffer"]
        #expect(object?["messageIdentifier"]?.string == folder.message("stay")?.id.text)
        let token = try SignedToken(try #require(object?["promotionalOfferSignatureV2"]?.string))
        #expect(token.isSigned(by: app.identity.key.publicKey))
        let claims = try JSONDocument(token.claims).root
        #expect(claims["transactionId"]?.string == "99371282")
        let none = try await endpoint.ask(app.question(3, locale: "fr-FR"))
        #expect(none.status == .ok && text(none) == "{}")
    }

    @Test func `a question without a matching rule gets 503 when the app says so`() async throws {
        let app = try AppUnderTest()
        let endpoint = try EndpointUnderTest(app) { $0.noAnswer = .unavailable }
        #expect(try await endpoint.ask(app.question(locale: "fr-FR")).status == .serviceUnavailable)
    }

    @Test func `only a message that is approved in this environment is an answer`() async throws {
        let app = try AppUnderTest()
        try app.record(.approved, in: .sandbox)
        try app.record(.pending)
        let endpoint = try EndpointUnderTest(app)
        #expect(try await text(endpoint.ask(app.question(1))) == "{}")
        let sandbox = try await endpoint.ask(app.question(1, environment: .sandbox))
        #expect(text(sandbox).contains("messageIdentifier"))
        // The offer is skipped, and the next rule for the locale decides.
        try app.record(.approved, of: ["bleib"])
        let other = try EndpointUnderTest(app)
        #expect(try await text(other.ask(app.question(2, locale: "en-US"))) == "{}")
        #expect(try await text(other.ask(app.question(3))).contains("messageIdentifier"))
    }

    @Test func `a repeated question gets the bytes of the first answer for ten minutes`() async throws {
        let app = try AppUnderTest()
        try app.record(.approved)
        let endpoint = try EndpointUnderTest(app)
        // An offer has a new nonce each time.
        let first = try await endpoint.ask(app.question(locale: "en-US"))
        #expect(try await endpoint.ask(app.question(locale: "en-US")).body == first.body)
        #expect(try await endpoint.ask(app.question(2, locale: "en-US")).body != first.body)
        endpoint.time.turn(by: 600_000)
        let later = try app.question(
            locale: "en-US", signedMilliseconds: AppUnderTest.now + 600_000)
        #expect(try await endpoint.ask(later).body != first.body)
    }

    @Test func `in the sandbox another Apple ID is logged, in production it is refused`() async throws {
        let app = try AppUnderTest()
        try app.record(.approved, in: .sandbox)
        let endpoint = try EndpointUnderTest(app)
        for (number, appleID) in [0, 5, nil].enumerated() {
            let sandbox = try app.question(number, appleID: appleID, environment: .sandbox)
            #expect(try await text(endpoint.ask(sandbox)).contains("messageIdentifier"))
            let production = try app.question(number, appleID: appleID)
            #expect(try await endpoint.ask(production).status == .forbidden)
        }
        #expect(endpoint.log.lines.count { $0.contains("another app's appAppleId") } == 3)
    }

    @Test func `a question from more than five minutes before or after now is refused`() async throws {
        let app = try AppUnderTest()
        let endpoint = try EndpointUnderTest(app)
        let expected: [(offset: Int, status: HTTPStatus)] = [
            (300_000, .ok), (-300_000, .ok), (300_001, .forbidden), (-300_001, .forbidden),
            (301_000, .forbidden), (.max - AppUnderTest.now, .forbidden),
        ]
        for (offset, status) in expected {
            let question = try app.question(signedMilliseconds: AppUnderTest.now + offset)
            #expect(try await endpoint.ask(question).status == status, "\(offset)")
        }
    }

    @Test func `malformed bodies get 400, and tokens that prove nothing 403`() async throws {
        let app = try AppUnderTest()
        try app.record(.approved)
        let endpoint = try EndpointUnderTest(app)
        let payload = try JSONDocument(app.store.body(asking: app.question())).root["signedPayload"]
        let good = try #require(payload?.string)
        let parts = good.split(separator: ".")
        func body(_ payload: String) -> [UInt8] { Array(#"{"signedPayload":"\#(payload)"}"#.utf8) }
        func header(_ text: String) -> [UInt8] {
            body(Base64.encode(Array(text.utf8), alphabet: .url) + ".\(parts[1]).\(parts[2])")
        }
        let original = try #require(Base64.decode(String(parts[0]), alphabet: .url))
        let certificates = try JSONDocument(original).root["x5c"]?.elements.compactMap(\.string) ?? []
        try #require(certificates.count == 3)
        func x5c(_ list: [String]) -> [UInt8] {
            let texts = list.map { "\"\($0)\"" }.joined(separator: ",")
            return header(#"{"alg":"ES256","x5c":[\#(texts)]}"#)
        }
        let past = try SimulatedAppStore(at: AppUnderTest.now / 1000 - 11 * 365 * 86_400)
        func claims(_ from: String, _ to: String) throws -> [UInt8] {
            let text = String(decoding: try app.question().json, as: UTF8.self).replacing(from, with: to)
            return try app.store.body(claims: Array(text.utf8))
        }
        func signature(_ bytes: [UInt8]) -> [UInt8] {
            body("\(parts[0]).\(parts[1])." + Base64.encode(bytes, alphabet: .url))
        }
        let stranger = try SimulatedAppStore(at: AppUnderTest.now / 1000)
        let real = try #require(Base64.decode(String(parts[2]), alphabet: .url))
        let half = [UInt8](repeating: 0, count: 32)
        let cases: [(label: String, body: [UInt8], status: HTTPStatus)] = [
            ("nothing", [], .badRequest), ("no JSON", Array("{".utf8), .badRequest),
            ("a list", Array("[]".utf8), .badRequest), ("no payload", Array("{}".utf8), .badRequest),
            ("a number", Array(#"{"signedPayload":1}"#.utf8), .badRequest),
            ("two payloads", Array(#"{"signedPayload":"a.b.c","signedPayload":"a.b.c"}"#.utf8), .badRequest),
            ("two parts", body("\(parts[0]).\(parts[1])"), .badRequest),
            ("four parts", body(good + ".AAAA"), .badRequest),
            ("bad Base64url", body("\(parts[0]).\(parts[1]).+/=="), .badRequest),
            ("alg none", header(#"{"alg":"none"}"#), .forbidden),
            ("alg HS256", header(#"{"alg":"HS256"}"#), .forbidden),
            ("alg RS256", header(#"{"alg":"RS256"}"#), .forbidden),
            (
                "crit",
                header(
                    String(decoding: original, as: UTF8.self).replacing(
                        "{\"alg", with: "{\"crit\":[\"a\"],\"alg")),
                .forbidden
            ),
            ("two certificates", x5c(Array(certificates.prefix(2))), .forbidden),
            ("four certificates", x5c(certificates + certificates.prefix(1)), .forbidden),
            ("wrong order", x5c([certificates[1], certificates[0], certificates[2]]), .forbidden),
            (
                "the root as intermediate", x5c([certificates[0], certificates[2], certificates[2]]),
                .forbidden
            ),
            ("no Base64", x5c(["*", "*", "*"]), .forbidden),
            ("no DER", x5c(["AAAA", "AAAA", "AAAA"]), .forbidden),
            ("expired", try past.body(asking: app.question()), .forbidden),
            ("no certificates", header(#"{"alg":"ES256"}"#), .forbidden),
            ("another root", try stranger.body(asking: app.question()), .forbidden),
            (
                "the other environment", try app.store.body(asking: app.question(environment: .sandbox)),
                .forbidden
            ),
            ("Xcode", try claims("Production", "Xcode"), .forbidden),
            ("LocalTesting", try claims("Production", "LocalTesting"), .forbidden),
            ("no product", try claims("productId", "product"), .badRequest),
            ("claims without an object", try app.store.body(claims: Array("1".utf8)), .badRequest),
            ("63 bytes", signature(Array(real.dropLast())), .forbidden),
            ("65 bytes", signature(real + [0]), .forbidden),
            ("r is zero", signature(half + real.suffix(32)), .forbidden),
            ("s is zero", signature(Array(real.prefix(32)) + half), .forbidden),
            ("DER", signature([0x30, 0x06, 2, 1, 1, 2, 1, 1]), .forbidden),
            ("the question itself", body(good), .ok),
        ]
        for (label, body, status) in cases {
            let answer = await endpoint.post(body)
            #expect(answer.status == status, "\(label): \(text(answer))")
            guard status != .ok else { continue }
            // The sender learns the status and the reference of the log's line.
            let reference = try #require(text(answer).split(separator: "reference ").last?.prefix(16))
            #expect(endpoint.log.lines.contains { $0.contains(reference) }, "\(label)")
        }
        #expect(await endpoint.post(body(good), slug: "other").status == .notFound)
        for line in endpoint.log.lines { #expect(!line.contains("99371282")) }
    }

    @Test func `a chain of the right root is refused when it is expired or lacks Apple's extensions`()
        async throws
    {
        let now = AppUnderTest.now / 1000
        let purpose = RootCertificate.Purpose.appStore
        let valid = (now - 86_400)...(now + 86_400)
        let cases:
            [(
                label: String, leaf: String?, intermediate: String?, validity: ClosedRange<Int>,
                status: HTTPStatus
            )] = [
                ("both extensions", purpose.leaf, purpose.intermediate, valid, .ok),
                ("no extension of the leaf", nil, purpose.intermediate, valid, .forbidden),
                ("no extension of the intermediate", purpose.leaf, nil, valid, .forbidden),
                ("expired", purpose.leaf, purpose.intermediate, (now - 86_400)...(now - 60), .forbidden),
                (
                    "not yet valid", purpose.leaf, purpose.intermediate, (now + 60)...(now + 86_400),
                    .forbidden
                ),
            ]
        for (label, leafID, intermediateID, validity, status) in cases {
            let app = try AppUnderTest()
            let root = try IssuedCertificate(
                IssuedCertificate.Request(name: "Root", key: .p384, isAuthority: true, validity: valid))
            let intermediate = try IssuedCertificate(
                IssuedCertificate.Request(
                    name: "Intermediate", key: .p384, extensionID: intermediateID, isAuthority: true,
                    validity: valid), issuer: root)
            let leaf = try IssuedCertificate(
                IssuedCertificate.Request(
                    name: "Leaf", key: .p256, extensionID: leafID, isAuthority: false, validity: validity),
                issuer: intermediate)
            let signer = try CertifiedTokenSigner(leaf: leaf, intermediate: intermediate, root: root)
            let payload = try signer.sign(app.question().json)
            let trusted = try RootCertificate(root.der)
            let endpoint = try EndpointUnderTest(app) { $0.root = trusted }
            let answer = await endpoint.post(Array(#"{"signedPayload":"\#(payload)"}"#.utf8))
            #expect(answer.status == status, "\(label)")
        }
    }

    @Test func `a full queue of signatures gets 503`() async throws {
        let app = try AppUnderTest()
        let endpoint = try EndpointUnderTest(
            app, threads: PublicKeyThreads(maximumThreads: 1, maximumJobs: 0))
        #expect(try await endpoint.ask(app.question()).status == .serviceUnavailable)
    }

    @Test func `unknown chains beyond the rate get 503, and the known chain is answered`() async throws {
        let app = try AppUnderTest()
        let endpoint = try EndpointUnderTest(app)
        #expect(try await endpoint.ask(app.question(1)).status == .ok)
        let stranger = try SimulatedAppStore(at: AppUnderTest.now / 1000)
        var statuses: [HTTPStatus] = []
        for number in 2..<25 {
            statuses.append(await endpoint.post(try stranger.body(asking: app.question(number))).status)
        }
        #expect(statuses.count { $0 == .forbidden } == 19)
        #expect(statuses.count { $0 == .serviceUnavailable } == 4)
        #expect(try await endpoint.ask(app.question(30)).status == .ok)
        endpoint.time.turn(by: 1000)
        #expect(await endpoint.post(try stranger.body(asking: app.question(31))).status == .forbidden)
    }

    @Test func `a known chain is verified again after 15 minutes, outside the rate`() throws {
        let store = try SimulatedAppStore(at: AppUnderTest.now / 1000)
        let root = try RootCertificate(store.root)
        func id(_ number: Int) -> ChainCache.ID {
            ChainCache.ID(
                root: root, chain: CertificateChain(leaf: [UInt8(number)], intermediate: []))
        }
        let key = try SigningKey(for: .es256).publicKey
        var cache = ChainCache(maximumChains: 2, maximumPerSecond: 1)
        #expect(cache.look(up: id(1), at: .zero) == .unverified)
        cache.keep(id(1), key, at: .zero)
        #expect(cache.look(up: id(2), at: .zero) == .refused)
        #expect(cache.look(up: id(1), at: .seconds(899)) == .verified(key))
        #expect(cache.look(up: id(2), at: .seconds(900)) == .unverified)
        #expect(cache.look(up: id(1), at: .seconds(900)) == .unverified)
        cache.keep(id(1), key, at: .seconds(900))
        cache.keep(id(2), key, at: .seconds(901))
        cache.keep(id(3), key, at: .seconds(902))
        // The chain that was unused for the longest time is the first.
        #expect(cache.look(up: id(1), at: .seconds(903)) == .unverified)
        #expect(cache.look(up: id(2), at: .seconds(903)) == .verified(key))
        cache.remove(id(2))
        #expect(cache.look(up: id(2), at: .seconds(903)) == .refused)
    }

    @Test func `kept answers are bounded by count and age`() throws {
        let app = try AppUnderTest()
        var answers = RepeatedAnswers(maximumAnswers: 2)
        func key(_ number: Int) throws -> RepeatedAnswers.Key {
            RepeatedAnswers.Key(
                slug: "shop", environment: .sandbox, identifier: try app.question(number).requestIdentifier)
        }
        #expect(try answers.keep([1], to: key(1), at: .zero) == [1])
        #expect(try answers.keep([2], to: key(1), at: .zero) == [1])
        _ = try answers.keep([2], to: key(2), at: .seconds(1))
        _ = try answers.keep([3], to: key(3), at: .seconds(2))
        #expect(answers.count == 2)
        #expect(try answers.answer(to: key(1), at: .seconds(2)) == nil)
        #expect(try answers.answer(to: key(2), at: .seconds(600)) == [2])
        #expect(try answers.answer(to: key(2), at: .seconds(601)) == nil)
        #expect(try answers.answer(to: key(3), at: .seconds(601)) == [3])
        #expect(answers.count == 1)
    }

    @Test func `each decision is recorded without the subscription, and swept by age`() async throws {
        let app = try AppUnderTest()
        try app.record(.approved)
        let endpoint = try EndpointUnderTest(app)
        _ = try await endpoint.ask(app.question(1))
        _ = try await endpoint.ask(app.question(1))
        _ = try await endpoint.ask(app.question(2, locale: "fr-FR"))
        endpoint.decisions.finish()
        await endpoint.decisions.run()
        let now = Timestamp(milliseconds: Int64(AppUnderTest.now))
        let path = app.directory.file("data/retention/shop/decisions-\(now.rfc3339.prefix(10)).jsonl")
        let lines = String(decoding: try File(path, for: .reading).readAll(), as: UTF8.self)
            .split(separator: "\n")
        let bleib = try #require(try app.configuration().folder.message("bleib")).id
        #expect(lines.count == 2)
        #expect(
            lines.first
                == #"{"at":"\#(now)","environment":"production","product":"p.monthly","locale":"de-DE","answer":"message \#(bleib)","source":"rule","milliseconds":0}"#
        )
        #expect(lines.last?.hasSuffix(#""locale":"fr-FR","source":"none","milliseconds":0}"#) == true)
        func later(_ days: Int) -> Timestamp {
            Timestamp(milliseconds: now.milliseconds + Int64(days) * 86_400_000)
        }
        try endpoint.decisions.files.sweep("shop", keeping: 30, at: later(30))
        #expect(Directory.exists(path))
        try endpoint.decisions.files.sweep("shop", keeping: 30, at: later(31))
        #expect(!Directory.exists(path))
    }
}
