import BalloonMetrics
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import MessageStore
import Payments
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import MessageServer

@Suite struct MetricsTests {
    private static let anyPort = SocketAddress.tcp(host: "127.0.0.1", port: 0)

    @Test func `messages, answers, replies and the handler's state are in the metrics of the admin listener`()
        async throws
    {
        let server = try await ServerUnderTest {
            $0.adminListen = .required(Self.anyPort)
            $0.businesses[0].people = PeopleConfiguration(text: "Soon.")
            $0.businesses[0].people?.queues = [QueueConfiguration(id: "general")]
        }
        let customer = server.customer()
        for _ in 0..<3 { #expect(try await customer.post(customer.message(.text)).status == 200) }
        #expect(try await customer.post(customer.message(.quickReply)).status == 200)
        #expect(try await server.metrics(at: server.url) == nil)
        // As a backup leaves it; only its time counts.
        try AtomicFile.write([], to: server.directory.file("data/backup.json"))
        await server.stages.count(4) { $0.stage == .reply && $0.result == .done }
        let samples = try #require(try await server.metrics())
        let expected = [
            #"balloon_messages_total{business="one",kind="text"}"#: "3",
            #"balloon_messages_total{business="one",kind="quickReply"}"#: "1",
            #"balloon_webhooks_total{status="200"}"#: "4",
            #"balloon_stage_duration_seconds_count{stage="reply",result="done"}"#: "4",
            #"balloon_gateway_requests_total{endpoint="message",status="200"}"#: "4",
            #"balloon_gateway_request_duration_seconds_count{endpoint="message"}"#: "4",
            #"balloon_deliveries_pending{business="one"}"#: "0",
            #"balloon_oldest_pending_seconds{business="one"}"#: "0",
            #"balloon_outbox_pending{business="two"}"#: "0",
            #"balloon_dead_letters{business="two"}"#: "0",
            #"balloon_conversations_overdue{business="one",queue="general"}"#: "0",
            #"balloon_handler_up{business="one"}"#: "1",
            #"balloon_gateway_credential_ok"#: "1",
            #"balloon_conversations_quarantined"#: "0",
            #"balloon_config_last_reload_successful"#: "1",
            #"balloon_build_info{version="unknown",commit="unknown",data_format="3"}"#: "1",
        ]
        for (name, value) in expected { #expect(samples[name] == value, "\(name)") }
        for name in [
            "balloon_journal_sync_duration_seconds_count", "balloon_journal_size_bytes",
            "balloon_disk_free_bytes", "balloon_backup_last_success_timestamp_seconds",
            "process_resident_memory_bytes", "process_open_fds",
            "process_start_time_seconds", #"balloon_http_connections{listener="admin"}"#,
        ] {
            #expect(samples[name].flatMap(Double.init) ?? 0 > 0, "\(name)")
        }
        let names = samples.keys.map { sample in
            let name = sample.prefix { $0 != "{" }
            guard let suffix = ["_bucket", "_sum", "_count"].first(where: name.hasSuffix) else { return name }
            return name.dropLast(suffix.count)
        }
        // Without TLS there is no certificate, and without PostgreSQL no owner; scripts/failover-test reads these.
        let others = [
            "balloon_certificate_expiry_timestamp_seconds", "balloon_store_beat_age_seconds",
            "balloon_store_followers", "balloon_store_follower_lag_seconds", "balloon_store_waiting_files",
            "balloon_store_failed_transactions_total",
        ]
        #expect(Set(names.map { String($0) } + others) == (try Self.namesInManual()))
        await server.stop()
    }

    /// The first column of the table in the manual.
    private static func namesInManual() throws -> Set<String> {
        let page =
            Fixture.directory.dropLast("Tests/TestSupport/Fixtures".count)
            + "Sources/MessageServer/MessageServer.docc/Metrics.md"
        let text = String(decoding: try File(String(page), for: .reading).readAll(), as: UTF8.self)
        return Set(
            text.split(separator: "\n").compactMap { line in
                guard line.hasPrefix("| `"), let name = line.split(separator: "`").dropFirst().first,
                    name.allSatisfy({ $0.isLetter || $0 == "_" })
                else { return nil }
                return String(name)
            })
    }

    @Test func `a bad token and a message for an unknown business are counted by the status of the answer`()
        async throws
    {
        let server = try await ServerUnderTest { $0.adminListen = .required(Self.anyPort) }
        let stranger = SimulatedCustomer(
            id: CustomerID("urn:mbid:stranger"), business: ServerUnderTest.business, server: server.url,
            mspID: ServerUnderTest.mspID, secret: .random(byteCount: 32), gateway: nil,
            transport: server.transport)
        #expect(try await stranger.post(stranger.message(.text)).status == 403)
        let unknown = server.customer(to: BusinessID("5a6b7c8d-0000-4000-8000-0000000000ff"))
        #expect(try await unknown.post(unknown.message(.text)).status == 404)
        let samples = try #require(try await server.metrics())
        #expect(samples[#"balloon_webhooks_total{status="403"}"#] == "1")
        #expect(samples[#"balloon_webhooks_total{status="404"}"#] == "1")
        #expect(samples[#"balloon_webhooks_total{status="200"}"#] == "0")
        await server.stop()
    }

    @Test func `the counters of a new server are there with 0, and it says that it was never backed up`()
        async throws
    {
        let server = try await ServerUnderTest { $0.adminListen = .required(Self.anyPort) }
        let samples = try #require(try await server.metrics())
        for series in [
            #"balloon_messages_total{business="one",kind="form"}"#,
            #"balloon_webhooks_total{status="503"}"#, #"balloon_webhooks_total{status="other"}"#,
            #"balloon_gateway_requests_total{endpoint="message",status="none"}"#,
            #"balloon_gateway_requests_total{endpoint="authenticate",status="200"}"#,
            #"balloon_sign_in_suspected_settings_total{setting="pkce"}"#, "balloon_references_expired_total",
            "balloon_log_lines_dropped_total", "balloon_backup_last_success_timestamp_seconds",
        ] {
            #expect(samples[series] == "0", "\(series)")
        }
        await server.stop()
    }

    @Test func `a message that waits for its handler is pending and grows older`() async throws {
        let handler = BlockingHandler()
        let server = try await ServerUnderTest(handler) { $0.adminListen = .required(Self.anyPort) }
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text, text: "block")).status == 200)
        await handler.waitForBlocked(1)
        let pending = #"balloon_deliveries_pending{business="one"}"#
        let age = #"balloon_oldest_pending_seconds{business="one"}"#
        let first = try #require(try await server.metrics())
        #expect(first[pending] == "1")
        let isOlder = try await eventually {
            let now = try await server.metrics()?[age].flatMap(Double.init) ?? 0
            return now > 0 && now > first[age].flatMap(Double.init) ?? 0
        }
        #expect(isOlder)
        handler.release()
        await server.stages.first { $0.stage == .finish }
        #expect(try await server.metrics()?[pending] == "0")
        await server.stop()
    }

    @Test func `a reload that fails shows in the metrics until one succeeds`() async throws {
        let server = try await ServerUnderTest { $0.adminListen = .required(Self.anyPort) }
        let name = "balloon_config_last_reload_successful"
        await server.reload { () throws(ConfigurationError) in throw .problems([]) }
        #expect(try await server.metrics()?[name] == "0")
        let configuration = server.configuration
        await server.reload { () throws(ConfigurationError) in configuration }
        #expect(try await server.metrics()?[name] == "1")
        await server.stop()
    }

    @Test func `the first 200 businesses have a label, the others share one, and a reload changes no label`()
    {
        let businesses = (0..<250).map { number in business(String(1000 + number)) }
        let labels = BusinessLabels(businesses.shuffled())
        #expect(labels[businesses[0].businessID] == "b1000")
        #expect(labels[businesses[199].businessID] == "b1199")
        #expect(labels[businesses[200].businessID] == "_other")
        // The first slug in sorted order is new, and the first old one is gone.
        labels.change(to: [business("0999")] + businesses.dropFirst())
        #expect(labels[businesses[199].businessID] == "b1199")
        #expect(labels[business("0999").businessID] == "_other")
        #expect(Set(labels.all.map(\.label)).count == 200)
    }

    @Test func `a thousand businesses and all stages, results and kinds make at most 5,000 series`() {
        let labels = BusinessLabels((0..<1000).map { business(String(1000 + $0)) })
        let stages = StageMetrics(labels, passingTo: StageCollector())
        for (business, _) in labels.all {
            for kind in Kind.allCases {
                stages.observe(
                    StageEvent(stage: .record, result: .done, nanoseconds: 1, business: business, kind: kind))
            }
        }
        let series = labels.messageCounts.count
        #expect(series == 201 * Kind.allCases.count)
        // Six gauges and a certificate for each label; buckets, sum and count of each histogram; a row for each answer of the gateway.
        let stageSeries = StageMetrics.possible.count * 13
        let gateway = 9 * 12 + 9 * 13
        let others = StageMetrics.statuses.count + 1 + 2 * 13 + 20
        #expect(series + 201 * 7 + stageSeries + gateway + others <= 5000)
    }

    @Test func `a merchant's certificate is in the metrics with its business until a reload removes it`()
        async throws
    {
        let folder = TemporaryDirectory()
        let merchant = try merchant(expiring: 2_000_000_000, in: folder)
        let server = try await ServerUnderTest {
            $0.adminListen = .required(Self.anyPort)
            $0.businesses[0].applePay = merchant
        }
        let name = #"balloon_certificate_expiry_timestamp_seconds{use="merchant",business="one"}"#
        #expect(try await server.metrics()?[name] == "2000000000")
        var configuration = server.configuration
        configuration.businesses[0].applePay = nil
        let wanted = configuration
        await server.reload { () throws(ConfigurationError) in wanted }
        let samples = try #require(try await server.metrics())
        #expect(!samples.keys.contains { $0.contains("certificate_expiry") })
        await server.stop()
    }

    @Test func `certificates of businesses without a label of their own share the earliest expiry`() throws {
        let folder = TemporaryDirectory()
        var businesses = (0..<203).map { business(String(1000 + $0)) }
        businesses[0].applePay = try merchant(expiring: 2_100_000_000, in: folder)
        businesses[201].applePay = try merchant(expiring: 2_000_000_001, in: folder)
        businesses[202].applePay = try merchant(expiring: 2_000_000_000, in: folder)
        var unusable = try merchant(expiring: 1_999_999_999, in: folder)
        unusable.merchant.keyFile = folder.file("missing.pem")
        businesses[200].applePay = unusable
        let certificates = MerchantCertificates()
        certificates.change(to: businesses)
        let expiries = certificates.expiries(by: BusinessLabels(businesses))
        #expect(expiries.map(\.label) == ["_other", "b1000"])
        #expect(expiries.map(\.seconds) == [2_000_000_000, 2_100_000_000])
    }

    private func merchant(expiring end: Int, in folder: TemporaryDirectory) throws -> ApplePayConfiguration {
        let issued = try IssuedCertificate(
            IssuedCertificate.Request(
                name: "merchant", key: .p256, isAuthority: false, validity: 1_700_000_000...end))
        let (certificate, key) = (folder.file("\(end).pem"), folder.file("\(end)-key.pem"))
        try AtomicFile.write(issued.pem, to: certificate)
        try AtomicFile.write(issued.keyPEM.bytes, to: key)
        return ApplePayConfiguration(
            merchant: MerchantIdentity(
                merchantIdentifier: "merchant.com.example", domainName: "shop.example",
                displayName: "Shop", certificateFile: certificate, keyFile: key))
    }

    private func business(_ number: String) -> BusinessConfiguration {
        BusinessConfiguration(
            slug: "b" + number, businessID: BusinessID("5a6b7c8d-0000-4000-8000-00000000" + number),
            name: "B",
            handler: .builtin(name: HandlerBinding.none, configuration: nil))
    }
}

extension ServerUnderTest {
    /// The samples of `/metrics` by name and labels; nil when there is no such path.
    fileprivate func metrics(at url: String? = nil) async throws -> [String: String]? {
        let url = try #require(url ?? adminURL)
        let answer = try await transport.send(TransportRequest(url: url + "/metrics", allowsPlainHTTP: true))
        if answer.status == 404 { return nil }
        #expect(answer.status == 200)
        #expect(answer.header("content-type") == MetricsText.contentType)
        var samples: [String: String] = [:]
        for line in String(decoding: answer.body, as: UTF8.self).split(separator: "\n")
        where !line.hasPrefix("#") {
            let space = try #require(line.lastIndex(of: " "))
            let name = String(line[..<space])
            #expect(samples[name] == nil, "twice: \(name)")
            samples[name] = String(line[line.index(after: space)...])
        }
        return samples
    }
}
