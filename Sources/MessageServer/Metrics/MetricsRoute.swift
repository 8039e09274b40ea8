import BalloonHTTP
import BalloonMetrics
import BalloonPOSIX
import BalloonTLS
import BusinessMessages
import GatewayClient
import MessageStore
import Replication
import SignIn

/// `GET /metrics` of the admin listener: the server's metrics in the text format of Prometheus.
///
/// Every name begins with `balloon_` or `process_`; the units are seconds and bytes. No label contains a
/// customer, an id or a reason. A scrape does not delay the shards.
struct MetricsRoute: Sendable {
    let version: String
    let commit: String
    let stages: StageMetrics
    let labels: BusinessLabels
    let store: Store
    let owned: OwnedStore?
    let registry: HandlerRegistry
    let pipelines: Pipelines
    let payments: PaymentServices
    let signInFlow: SignInFlow
    let connections: ListenerConnections
    /// The listeners' certificate; nil without TLS.
    let tls: TLSCredentials?
    let merchantCertificates: MerchantCertificates
    /// Whether the last reload succeeded; set before the first.
    let isReloaded: AtomicFlag

    /// The route; a task composes the answer outside the shard.
    var route: HTTPRoute {
        HTTPRoute(.get, "/metrics") { _, responder in
            Task { @concurrent in
                responder.respond(HTTPResponse(.ok, contentType: MetricsText.contentType, body: await text))
            }
            return nil
        }
    }

    private var text: [UInt8] {
        get async {
            var handlers: [BusinessID: HandlerStatus] = [:]
            for business in registry.all { handlers[business.business] = await HandlerStatus(business) }
            var text = MetricsText()
            text.add(labels.messageCounts, stages)
            let metrics = store.metrics(deadReversals: payments.deadLetters)
            text.add(BusinessMetrics.all(labels, metrics, handlers))
            text.family(
                "balloon_conversations_overdue", .gauge,
                "Conversations whose customer waits longer for an answer than the target of their queue."
            ) { samples in
                for (business, label) in labels.all {
                    for figures in pipelines.watch.queues(of: business) {
                        samples.add(
                            [("business", label), ("queue", figures.queue.id)], Double(figures.overdue))
                    }
                }
            }
            text.add(
                pipelines.gateway.metrics,
                isCredentialRefused: pipelines.sender.pauses.contains(where: \.isCredentialRefused))
            text.add(metrics, store.statistics)
            if let owned { text.add(owned.figures) }
            text.family(
                "balloon_references_expired_total", .counter,
                "Payload references that expired before their download; each is a lost choice of a customer.",
                pipelines.resolver.fetcher.expired.value)
            text.family(
                "balloon_log_lines_dropped_total", .counter,
                "Log lines that were dropped because the reader of standard error was too slow.",
                LogStream.standardError.dropped.value)
            text.family(
                "balloon_sign_in_suspected_settings_total", .counter,
                "Sign-ins that failed as if the provider did not support a setting of authentication, by setting."
            ) { samples in
                for (setting, count) in signInFlow.suspectedSettings {
                    samples.add([("setting", setting)], count)
                }
            }
            text.family("balloon_http_connections", .gauge, "Open connections, by listener.") { samples in
                for listener in connections.counts {
                    samples.add([("listener", listener.name)], listener.connections)
                }
            }
            text.family(
                "balloon_config_last_reload_successful", .gauge,
                "1 unless the last reload of the configuration failed.", isReloaded.isSet ? 1 : 0)
            text.family(
                "balloon_certificate_expiry_timestamp_seconds", .gauge,
                "The expiry of a certificate, in seconds since 1970, by use and business."
            ) { samples in
                if let expiry = tls?.expirySecondsSince1970 { samples.add([("use", "listener")], expiry) }
                for (label, expiry) in merchantCertificates.expiries(by: labels) {
                    samples.add([("use", "merchant"), ("business", label)], expiry)
                }
            }
            text.family(
                "balloon_build_info", .gauge,
                "The version of the program, its commit, and the format of the data directory; always 1."
            ) {
                $0.add(
                    [
                        ("version", version), ("commit", commit),
                        ("data_format", "\(Store.dataFormat)"),
                    ], 1)
            }
            text.addProcess()
            return text.bytes
        }
    }
}

extension MetricsText {
    fileprivate mutating func add(
        _ messages: [(label: String, kind: Kind, count: UInt64)], _ stages: StageMetrics
    ) {
        family("balloon_messages_total", .counter, "Messages in a conversation's file, by business and kind.")
        {
            for (label, kind, count) in messages {
                $0.add([("business", label), ("kind", kind.rawValue)], count)
            }
        }
        family("balloon_webhooks_total", .counter, "Webhooks, by the status of the answer.") {
            for (status, count) in stages.webhookCounts { $0.add([("status", status)], count) }
        }
        family(
            "balloon_stage_duration_seconds", .histogram,
            "The durations of the stages of messages and replies, by stage and result."
        ) {
            for (stage, result, durations) in stages.stages {
                $0.add([("stage", stage.rawValue), ("result", result.name)], durations)
            }
        }
    }

    fileprivate mutating func add(_ businesses: [(label: String, metrics: BusinessMetrics)]) {
        func gauge(_ name: String, _ help: String, _ value: (BusinessMetrics) -> Double?) {
            family("balloon_" + name, name.hasSuffix("_total") ? .counter : .gauge, help) { samples in
                for (label, metrics) in businesses {
                    if let value = value(metrics) { samples.add([("business", label)], value) }
                }
            }
        }
        let now = Timestamp.now()
        gauge("deliveries_pending", "Messages whose delivery has not ended.") {
            Double($0.backlog.pending)
        }
        gauge("oldest_pending_seconds", "The age of the oldest message whose delivery has not ended.") {
            Double($0.backlog.oldestAge(at: now) ?? 0) / 1000
        }
        gauge("outbox_pending", "Replies that have neither been accepted nor refused.") {
            Double($0.backlog.queuedReplies)
        }
        gauge("dead_letters", "Messages and replies that wait for an operator's decision.") {
            Double($0.backlog.deadLetters)
        }
        gauge("handler_up", "1 while the handler accepts events.") { $0.isHandlerUp.map { $0 ? 1 : 0 } }
        gauge("handler_restarts_total", "Restarts of the handler.") { $0.restarts.map { Double($0) } }
    }

    fileprivate mutating func add(_ gateway: GatewayMetrics, isCredentialRefused: Bool) {
        family("balloon_gateway_requests_total", .counter, "Requests to Apple's gateway, by type and answer.")
        {
            for (call, answer, count) in gateway.counts {
                $0.add([("endpoint", call.rawValue), ("status", answer.rawValue)], count)
            }
        }
        family(
            "balloon_gateway_request_duration_seconds", .histogram,
            "The durations of the requests to Apple's gateway, by type."
        ) {
            for (call, durations) in gateway.durationsByCall {
                $0.add([("endpoint", call.rawValue)], durations)
            }
        }
        family(
            "balloon_gateway_credential_ok", .gauge,
            "0 while sending is paused because the gateway refuses the MSP's credential.",
            isCredentialRefused ? 0 : 1)
    }

    fileprivate mutating func add(_ store: StoreMetrics, _ statistics: StoreStatistics) {
        family(
            "balloon_journal_sync_duration_seconds", .histogram,
            "The durations of the journal's batches: one write and one sync each."
        ) { $0.add([], store.commitDurations) }
        family("balloon_journal_batch_records", .histogram, "The number of records of each batch.") {
            $0.add([], store.batchSizes)
        }
        family(
            "balloon_journal_size_bytes", .gauge, "The bytes of all segments of the journal.",
            store.journalBytes)
        if let bytes = store.freeBytes {
            family(
                "balloon_disk_free_bytes", .gauge, "The free bytes on the disk of the data directory.", bytes)
        }
        family(
            "balloon_backup_last_success_timestamp_seconds", .gauge,
            "The time of the latest complete backup by the command backup; 0 without one.",
            UInt64(clamping: (store.lastBackup?.milliseconds ?? 0) / 1000))
        family(
            "balloon_conversations_quarantined", .gauge,
            "Damaged conversations that need the command conversations rebuild.",
            statistics.quarantinedConversations)
    }

    fileprivate mutating func add(_ store: OwnedStore.Figures) {
        family(
            "balloon_store_beat_age_seconds", .gauge,
            "The time since PostgreSQL last confirmed that this server has the store."
        ) { $0.add([], Double(store.sinceBeat.wholeMilliseconds) / 1000) }
        family(
            "balloon_store_followers", .gauge, "The servers that follow the store, and can take it.",
            store.followers)
        if let lag = store.followerLag {
            family(
                "balloon_store_follower_lag_seconds", .gauge,
                "The time since a server that follows last had every change, of the one that is least behind."
            ) { $0.add([], Double(lag.wholeMilliseconds) / 1000) }
        }
        family(
            "balloon_store_waiting_files", .gauge, "The changed files that are not in PostgreSQL yet.",
            store.waitingFiles)
        family(
            "balloon_store_failed_transactions_total", .counter,
            "The transactions that failed; each is made again.", store.failures)
    }

    fileprivate mutating func addProcess() {
        guard let usage = ProcessUsage() else { return }
        family("process_cpu_seconds_total", .counter, "The processor time of the process.") {
            $0.add([], usage.cpuSeconds)
        }
        family(
            "process_resident_memory_bytes", .gauge, "The memory of the process in RAM.", usage.residentBytes)
        family(
            "process_virtual_memory_bytes", .gauge, "The address space of the process.", usage.virtualBytes)
        family("process_threads", .gauge, "The threads of the process.", usage.threadCount)
        family("process_open_fds", .gauge, "The open descriptors of the process.", usage.openFiles)
        family(
            "process_max_fds", .gauge, "The largest possible number of open descriptors.",
            usage.maximumOpenFiles)
        family(
            "process_start_time_seconds", .gauge, "The start of the process, in seconds since 1970.",
            usage.startedSecondsSince1970)
    }
}
