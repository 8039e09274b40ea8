import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import HandlerKit
import Logging
import ServerTestSupport
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import BalloonHTTP
@testable import GatewayClient
@testable import MessageServer
@testable import MessageStore

/// A reload applies each setting to the running server, or reports that it needs a restart.
@Suite(.timeLimit(.minutes(10))) struct ReloadableSettingTests {
    /// Another value of a key, and a look at what the running server does with it after the reload.
    private struct Change: Sendable {
        let value: String
        /// Other settings of the same object that make the effect visible.
        var others = ""
        let isInEffect: @Sendable (Reloaded) async throws -> Bool

        init(
            _ value: String, others: String = "",
            _ isInEffect: @escaping @Sendable (Reloaded) async throws -> Bool
        ) {
            self.value = value
            self.others = others
            self.isInEffect = isInEffect
        }
    }

    /// A server after a reload, with the configuration that the reload loaded.
    private struct Reloaded: Sendable {
        let server: ServerUnderTest
        let loaded: ServerConfiguration

        var running: RunningServer { server.running }

        /// The status of the answer to a customer's text.
        func post(
            _ text: String = "Hello", of customer: SimulatedCustomer? = nil, issuedSecondsAgo: Int = 0
        ) async throws -> Int {
            let customer = customer ?? server.customer()
            var request = try customer.request(carrying: customer.message(.text, text: text))
            let token = customer.token(issuedAt: SystemClock.secondsSince1970() - issuedSecondsAgo)
            request.set("authorization", "Bearer " + token)
            return try await customer.exchange(request).status
        }

        /// The status of the answer to a customer's text that is signed with another secret.
        func post(signedWith secret: Secret) async throws -> Int {
            try await post(
                of: SimulatedCustomer(
                    id: CustomerID("urn:mbid:other"), business: ServerUnderTest.business, server: server.url,
                    mspID: ServerUnderTest.mspID, secret: secret, gateway: nil, transport: server.transport))
        }

        /// Appends a message of a business that has no handler; returns the result.
        func append(_ id: String, secondsFromNow: Int = 0) async -> AppendResult {
            let message = ReceivedMessage(
                business: BusinessID("unserved"), customer: CustomerID("c"), id: MessageID(id),
                message: Array(#"{"type":"text","body":"Hello"}"#.utf8),
                receivedAt: Timestamp.now().advanced(by: .seconds(secondsFromNow)))
            return await withCheckedContinuation { stored in
                running.store.append(message) { stored.resume(returning: $0) }
            }
        }

        /// Returns the answer of the public listener to a GET.
        func get(
            _ path: String, headers: [(name: String, value: String)] = []
        ) async throws -> TransportResponse {
            try await server.transport.send(
                TransportRequest(url: server.url + path, headers: headers, allowsPlainHTTP: true))
        }

        /// The limits that every shard of the public listener uses.
        func isLimited(_ isAsWanted: @Sendable (HTTPLimits) -> Bool) async -> Bool {
            for shard in running.http.shards where !isAsWanted(await shard.limits(ofListener: 0)) {
                return false
            }
            return true
        }

        func admin(
            _ path: String, headers: [(name: String, value: String)] = []
        ) async throws -> TransportResponse {
            try await server.transport.send(
                TransportRequest(
                    url: try #require(server.adminURL) + path,
                    headers: [("Authorization", "Bearer " + TestTokens.all)] + headers, allowsPlainHTTP: true)
            )
        }
    }

    /// A change of each key of the server's file, below `/` for the keys of an object.
    private static let changes: [String: Change] = [
        "secret": Change(#"{"file":"other"}"#) {
            let isOldRefused = try await $0.post() == 403
            let isNewAccepted = try await $0.post(signedWith: $0.loaded.secret) == 200
            return isOldRefused && isNewAccepted
        },
        "previousSecret": Change(#"{"file":"other"}"#) {
            guard let previous = $0.loaded.previousSecret else { return false }
            return try await $0.post(signedWith: previous) == 200
        },
        "publicURL": Change(#""https://other.example.com""#) {
            let configuration = $0.running.configuration
            return SignInSettings(configuration).redirectURI(of: "one")
                == "https://other.example.com/auth/one/callback"
                && PaymentSettings(configuration).base(of: "k") == "https://other.example.com/pay/k"
        },
        "removedBusinessDays": Change("8") {
            $0.running.configuration.removedBusinessAge == .seconds(8 * 86_400)
        },
        "shutdownSeconds": Change("26") { $0.running.shutdownTime == .seconds(26) },
        "drainDelaySeconds": Change("1") { reloaded in
            await ContinuousClock().measure { _ = await reloaded.server.stopServer(within: .seconds(60)) }
                >= .seconds(1)
        },
        "gateway/url": Change(#""https://127.0.0.1:1/v1""#) {
            $0.running.pipelines.gateway.request("GET", .message, []).url.hasPrefix("https://127.0.0.1:1/v1/")
        },
        "gateway/downloadHosts": Change(#"["example.com"]"#) {
            let policy = $0.running.pipelines.gateway.downloadPolicy
            return (try? policy.check("https://example.com/a")) != nil
                && (try? policy.check("https://icloud.com/a")) == nil
        },
        "gateway/agent": Change(#""Other""#) { $0.running.pipelines.gateway.configuration.agent == "Other" },
        "gateway/giveUpAfterHours": Change("1") { reloaded in
            // A message that was decided two hours ago, and that the gateway does not accept.
            reloaded.server.gateway.misbehave(at: .message, .answer(.serviceUnavailable), times: 1000)
            let (customer, id) = (CustomerID("late"), MessageID.random())
            let message = ReceivedMessage(
                business: ServerUnderTest.business, customer: customer, id: id,
                message: OutboundMessage.text("Late").encodeToSend(
                    id: id, from: ServerUnderTest.business, to: customer), outboundKind: .text,
                receivedAt: Timestamp.now().advanced(by: .seconds(-7200)))
            await withCheckedContinuation { stored in
                reloaded.running.store.append(message) { _ in stored.resume() }
            }
            return await eventually {
                reloaded.server.log.lines.contains { $0.contains("not sent within 1 hours") }
            }
        },
        "attachments/maximumBytes": Change("1") {
            try await $0.server.api("/v1/businesses/one/attachments", method: "POST", body: "long").status
                == 413
                && $0.running.pipelines.gateway.configuration.maximumAttachmentBytes == 1
                && $0.running.pipelines.deliveries.replyFiles.configuration.attachments.maximumBytes == 1
        },
        "attachments/deadlineSeconds": Change("121") {
            $0.running.pipelines.deliveries.attachments.configuration.attachments.deadline == .seconds(121)
        },
        "attachments/retentionDays": Change("366") {
            $0.running.sweep.configuration.attachments.retention == .seconds(366 * 86_400)
        },
        "attachments/concurrency": Change("1") { reloaded in
            let slots = reloaded.running.pipelines.deliveries.attachments.slots
            _ = await slots.acquire(for: ServerUnderTest.business)
            let second = Task { await slots.acquire(for: ServerUnderTest.business) }
            let waits = await eventually { slots.counts.waiting == 1 }
            second.cancel()
            _ = await second.value
            slots.release(ServerUnderTest.business)
            return waits
        },
        "store/deduplicationHours": Change("1") { reloaded in
            // Each message is half an hour later than the one before.
            for number in 0..<6 { _ = await reloaded.append("m\(number)", secondsFromNow: number * 1800) }
            return await reloaded.append("m0", secondsFromNow: 6 * 1800) == .stored
        },
        "store/maximumRememberedMessages": Change("1000") { reloaded in
            for number in 0..<1100 { _ = await reloaded.append("m\(number)") }
            return await reloaded.append("m0") == .stored
        },
        "store/maximumPendingDeliveries": Change("1") { reloaded in
            let first = await reloaded.append("1")
            guard case .failed(.tooManyPending(maximum: 1)) = await reloaded.append("2") else { return false }
            return first == .stored
        },
        "store/minimumFreeMegabytes": Change("1000000000") {
            let status = try await $0.server.control("/status")
            return try await $0.server.readiness() == 503
                && String(decoding: status.body, as: UTF8.self).contains(#""minimumBytes":1048576000000000"#)
        },
        "store/erasureLedger": Change(#""/dev/null/ledger""#) {
            // The ledger cannot be made below a file, so the store names none.
            $0.running.store.ledgerNames(of: CustomerID("c"), ServerUnderTest.business).isEmpty
                && $0.server.log.lines.contains { $0.contains("the ledger of erasures cannot be used") }
        },
        "store/erasureLedgerDays": Change("731") { $0.running.store.erasures.ledgerDays == 731 },
        "store/auditDays": Change("1") { reloaded in
            let path = reloaded.server.configuration.dataDirectory + "/" + AuditLog.fileName
            let old = Timestamp.now().advanced(by: .seconds(-2 * 86_400)).rfc3339
            try AtomicFile.write(Array("{\"at\":\"\(old)\"}\n".utf8), to: path)
            await reloaded.running.retentionSweep.audit.removeOld()
            return try File(path, for: .reading).readAll().isEmpty
        },
        "limits/maximumBodyBytes": Change("1024") {
            var generator = SeededGenerator(seed: 1)
            let text = (0..<4000).map { _ in String(UInt8.random(in: 0...9, using: &generator)) }.joined()
            return try await $0.post(text) == 413
        },
        "limits/maximumInflatedBytes": Change("1024") {
            try await $0.post(String(repeating: "a", count: 3000)) == 413
        },
        // The ratio limits only bodies of more than 64 KiB.
        "limits/maximumInflationRatio": Change("2") {
            try await $0.post((0..<16_000).map(String.init).joined()) == 413
        },
        "limits/tokenAgeSeconds": Change("30") {
            let isFreshAccepted = try await $0.post() == 200
            let isOldRefused = try await $0.post(issuedSecondsAgo: 60) == 403
            return isFreshAccepted && isOldRefused
        },
        "limits/handlerDeadlineSeconds": Change("31") {
            $0.running.registry[ServerUnderTest.business]?.deadline == .seconds(31)
        },
        "limits/handlerConcurrency": Change("17") {
            $0.running.registry[ServerUnderTest.business]?.slots.maximumCount == 17
        },
        "limits/referenceConcurrency": Change("1") { reloaded in
            // Both payloads of two customers are asked for, and the gateway answers neither.
            reloaded.server.gateway.misbehave(at: .preDownload, .silence, times: 100)
            for _ in 0..<2 {
                let customer = reloaded.server.customer()
                _ = try await customer.post(customer.message(.listPicker), isLarge: true)
            }
            return await eventually { reloaded.running.store.scheduler.references.withLock { $0.count } == 1 }
        },
        "http/maximumRequestLineBytes": Change("64") {
            try await $0.get("/\(String(repeating: "a", count: 100))").status == 414
        },
        "http/maximumFieldLineBytes": Change("1024") {
            try await $0.get("/livez", headers: [("a", String(repeating: "a", count: 2000))]).status == 431
        },
        "http/maximumFieldCount": Change("16") {
            try await $0.get("/livez", headers: (0..<20).map { ("a\($0)", "b") }).status == 431
        },
        "http/maximumHeaderBytes": Change("2048", others: #","maximumFieldLineBytes":1024"#) {
            let value = String(repeating: "a", count: 900)
            return try await $0.get("/livez", headers: (0..<3).map { ("a\($0)", value) }).status == 431
        },
        "http/maximumRequestsPerConnection": Change("1") {
            try await $0.get("/livez").header("Connection") == "close"
        },
        "http/maximumConnections": Change("501") { await $0.isLimited { $0.maximumConnections == 501 } },
        "http/maximumConnectionsPerPeer": Change("1") { reloaded in
            // The transport of the test keeps its connection open, so that of another client closes at once.
            _ = try await reloaded.get("/livez")
            let other = try CurlTransport()
            let answer = try? await other.send(
                TransportRequest(url: reloaded.server.url + "/livez", allowsPlainHTTP: true))
            return answer == nil
        },
        "http/maximumBufferedBytes": Change("33554433") {
            await $0.isLimited { $0.maximumBufferedBytes == 33_554_433 }
        },
        "http/maximumBufferedBytesPerPeer": Change("33554433") {
            await $0.isLimited { $0.maximumBufferedBytesPerPeer == 33_554_433 }
        },
        "http/maximumPendingOutputBytes": Change("17000") {
            await $0.isLimited { $0.maximumPendingOutputBytes == 17_000 }
        },
        "http/firstByteSeconds": Change("11") { await $0.isLimited { $0.firstByteTimeout == .seconds(11) } },
        "http/headerSeconds": Change("11") { await $0.isLimited { $0.headTimeout == .seconds(11) } },
        "http/bodySeconds": Change("1") { await $0.isLimited { $0.bodyTimeout == .seconds(1) } },
        "http/bodyGraceSeconds": Change("1") { await $0.isLimited { $0.bodyGrace == .seconds(1) } },
        "http/minimumBodyBytesPerSecond": Change("501") {
            await $0.isLimited { $0.minimumBodyBytesPerSecond == 501 }
        },
        "http/requestSeconds": Change("11") { await $0.isLimited { $0.requestTimeout == .seconds(11) } },
        "http/idleSeconds": Change("11") { await $0.isLimited { $0.idleTimeout == .seconds(11) } },
        "http/answerSeconds": Change("11") { await $0.isLimited { $0.answerTimeout == .seconds(11) } },
        "http/writeSeconds": Change("11") { await $0.isLimited { $0.writeTimeout == .seconds(11) } },
        "http/lingerSeconds": Change("11") { await $0.isLimited { $0.lingerTimeout == .seconds(11) } },
        "api/tokens": Change("[]") { try await $0.admin("/v1/businesses").status == 404 },
        "api/origins": Change(#"["https://other.example.com"]"#) {
            try await $0.admin("/v1/businesses", headers: [("Origin", "https://other.example.com")])
                .header("Access-Control-Allow-Origin") == "https://other.example.com"
        },
        "api/hosts": Change(#"["other.example.com"]"#) {
            try await $0.admin("/v1/businesses", headers: [("Host", "other.example.com")]).status == 200
        },
        "api/requestsPerMinute": Change("601") {
            try await $0.admin("/v1/businesses").header("RateLimit-Policy")?.contains("q=601") == true
        },
        "api/inbox": Change("true") { try await $0.admin("/inbox").status == 200 },
    ]

    /// Another value of each key that needs a restart.
    private static let fixed: [String: String] = [
        "mspID": #""other""#, "listen": #""127.0.0.1:9""#, "adminListen": #""off""#,
        "inspectorListen": #""127.0.0.1:9""#, "dataDirectory": #""other""#, "landing": "true",
        "limits/shards": "33", "store/postgres": #"{"url":{"file":"other"}}"#,
        "tls": #"{"certificateFile":"\#(certificate)","keyFile":"\#(key)"}"#,
    ]

    private static let slow: Set<String> = [
        "gateway/giveUpAfterHours", "attachments/concurrency", "limits/referenceConcurrency",
        "drainDelaySeconds",
    ]

    private static let certificate = Fixture.directory + "/tls/certificate.pem"
    private static let key = Fixture.directory + "/tls/key.pem"

    /// Every key of the server's file, as the hints for an unknown key name them; a key of an object has the
    /// object's name before it.
    private static let keys: [String] = {
        let objects = ["gateway", "attachments", "store", "limits", "http", "api"]
        let members = objects.map { #""\#($0)":{"?":1}"# }.joined(separator: ",")
        do {
            _ = try ConfigurationFiles(server: #"{"?":1,\#(members)}"#).load()
            return []
        } catch let error as ConfigurationError {
            return error.problems.flatMap { problem -> [String] in
                guard case .value(_, _, _, let pointer) = problem.place, pointer.hasSuffix("/?") else {
                    return []
                }
                let known = problem.hint.dropFirst("use one of the keys ".count).split(separator: ", ")
                return known.map { "\(pointer.dropFirst().dropLast())\($0)" }.filter { !objects.contains($0) }
            }
        } catch {
            return []
        }
    }()

    private static let token =
        #"{"name":"all","sha256":"\#(Hex.encode(SHA256.hash(Array(TestTokens.all.utf8))))","may":["read","send"]}"#

    /// Loads a server's file with one other value.
    private static func load(_ key: String, _ value: String, _ others: String) throws -> ServerConfiguration {
        var members = ["mspID": #""msp""#, "secret": #"{"file":"secret"}"#]
        let parts = key.split(separator: "/").map(String.init)
        members["api"] = #"{"tokens":[\#(token)]}"#
        members[parts[0]] = parts.count == 1 ? value : #"{"\#(parts[1])":\#(value)\#(others)}"#
        if key.hasPrefix("api/"), key != "api/tokens" {
            members["api"] = #"{"tokens":[\#(token)],"\#(parts[1])":\#(value)}"#
        }
        let text = members.sorted { $0.key < $1.key }.map { #""\#($0)":\#($1)"# }.joined(separator: ",")
        let files = try ConfigurationFiles(server: "{\(text)}")
        try files.write(ConfigurationFiles.secret, to: "secret")
        try files.write("b3RoZXItb3RoZXItb3RoZXItb3RoZXI=", to: "other")
        return try files.load(["BALLOON_INSPECTOR_TOKEN": String(repeating: "t", count: 32)])
    }

    /// Copies the setting `key` of a loaded configuration into that of a running server.
    private static func copy(
        _ key: String, from loaded: ServerConfiguration, into wanted: inout ServerConfiguration
    ) throws {
        switch key {
        case "mspID": wanted.mspID = loaded.mspID
        case "secret": wanted.secret = loaded.secret
        case "previousSecret": wanted.previousSecret = loaded.previousSecret
        case "publicURL": wanted.publicURL = loaded.publicURL
        case "listen": wanted.listen = loaded.listen
        case "adminListen": wanted.adminListen = loaded.adminListen
        case "inspectorListen": wanted.inspector = loaded.inspector
        case "tls": wanted.tls = loaded.tls
        case "dataDirectory": wanted.dataDirectory = loaded.dataDirectory
        case "landing": wanted.hasLandingPage = loaded.hasLandingPage
        case "removedBusinessDays": wanted.removedBusinessAge = loaded.removedBusinessAge
        case "shutdownSeconds": wanted.shutdownTime = loaded.shutdownTime
        case "drainDelaySeconds": wanted.drainDelay = loaded.drainDelay
        case "gateway/url": wanted.gateway.url = loaded.gateway.url
        case let key where key.hasPrefix("gateway/"):
            let url = wanted.gateway.url
            wanted.gateway = loaded.gateway
            wanted.gateway.url = url
        case let key where key.hasPrefix("attachments/"): wanted.attachments = loaded.attachments
        case "store/postgres": wanted.postgres = loaded.postgres
        case let key where key.hasPrefix("store/"): wanted.store = loaded.store
        case let key where key.hasPrefix("limits/"): wanted.limits = loaded.limits
        case let key where key.hasPrefix("http/"): wanted.http = loaded.http
        case let key where key.hasPrefix("api/"): wanted.api = loaded.api
        default: Issue.record("\(key) is new: copy it here")
        }
    }

    @Test func `the hints for an unknown key name every setting`() {
        #expect(Set(Self.keys) == Set(Self.changes.keys).union(Self.fixed.keys))
    }

    @Test(arguments: keys)
    func `a change of a server's setting takes effect in the running server, or is reported`(key: String)
        async throws
    {
        let server = try await ServerUnderTest.withAPI()
        let change = Self.changes[key]
        let value = try #require(
            change?.value ?? Self.fixed[key],
            "\(key) is new: add a value and its effect, or add it to the settings that need a restart")
        let loaded = try Self.load(key, value, change?.others ?? "")
        var wanted = server.configuration
        try Self.copy(key, from: loaded, into: &wanted)
        let reloaded = Reloaded(server: server, loaded: loaded)
        // Without a reload the server does something else; where that would take long to see, it is not tried.
        if let change, !Self.slow.contains(key) {
            let other = try await ServerUnderTest.withAPI()
            #expect(try await !change.isInEffect(Reloaded(server: other, loaded: loaded)), "\(key)")
            await other.stop()
        }
        await server.reload { () throws(ConfigurationError) in wanted }
        let line = try #require(
            server.log.lines.last {
                $0.contains("configuration reloaded") || $0.contains("only after a restart")
            })
        if let change {
            #expect(line.contains("configuration reloaded"), "\(line)")
            #expect(try await change.isInEffect(reloaded), "\(key)")
        } else {
            #expect(line.contains("only after a restart") && line.contains(key), "\(line)")
            // The setting of the start stays in effect.
            #expect(
                server.configuration.settingsThatNeedRestart(comparedTo: server.running.configuration.value)
                    == [])
        }
        await server.stop()
    }

    @Test(arguments: [
        ("name", #""Other""#), ("handler", #"{"builtin":"other"}"#), ("fallback", #"{"text":"Later."}"#),
        ("people", #"{"text":"Soon."}"#), ("concurrency", "3"), ("deadlineSeconds", "7"),
        ("logLevel", #""debug""#), ("quota", #"{"pendingMessages":9}"#),
        ("retention", #"{"messagesDays":9}"#), ("businessID", #""b-2""#),
    ])
    func `a change of a business's setting reaches the parts that a reload replaces`(
        key: String, value: String
    ) throws {
        func load(_ business: String) throws -> ServerConfiguration {
            try ConfigurationFiles(businesses: ["demo": business]).load(handlers: [
                AnyFactory(), OtherFactory(),
            ])
        }
        let rest = ["businessID": #""b-1""#, "name": #""Demo""#, "handler": #"{"builtin":"demo"}"#]
        let text = { (members: [String: String]) in
            "{" + members.sorted { $0.key < $1.key }.map { #""\#($0)":\#($1)"# }.joined(separator: ",") + "}"
        }
        let before = try load(text(rest))
        let after = try load(text(rest.merging([key: value]) { $1 }))
        let builder = HandlerBuilder(
            factories: [AnyFactory(), OtherFactory()], unasked: ProactiveMessages(),
            logger: LogCollector().logger)
        let old = try builder.make(before)
        // The folder of the business's file is another one, so compare without it.
        var moved = after
        moved.businesses[0].directory = before.businesses[0].directory
        let replaced = try builder.make(moved) { id in old.first { $0.business == id }?.fingerprint }
        let isApplied =
            !replaced.isEmpty || before.businesses[0].people != after.businesses[0].people
            || before.businesses[0].maximumPendingMessages != after.businesses[0].maximumPendingMessages
            || before.businesses[0].retention != after.businesses[0].retention
            // The name is for commands that read the file; the server does not use it.
            || key == "name"
        #expect(isApplied)
    }
}

extension Shard {
    fileprivate func limits(ofListener index: Int) -> HTTPLimits { listeners[index].limits }
}

private struct AnyFactory: HandlerFactory {
    let name = "demo"
    func make(configuration: JSONValue?) -> any Handler { RecordingHandler() }
}

private struct OtherFactory: HandlerFactory {
    let name = "other"
    func make(configuration: JSONValue?) -> any Handler { RecordingHandler() }
}
