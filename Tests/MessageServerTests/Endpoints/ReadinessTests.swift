import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import ServerTestSupport
import TestSupport
import Testing

@testable import MessageServer
@testable import MessageStore

@Suite struct ReadinessTests {
    private static let anyPort = SocketAddress.tcp(host: "127.0.0.1", port: 0)

    /// The counts of a store, with some of them set.
    private static func statistics(
        pending: Int = 0, queued: Int = 0, failure: SystemError? = nil, quarantined: Int = 0,
        refused: Int = 0, checkpointFailure: String? = nil
    ) -> StoreStatistics {
        StoreStatistics(
            pendingDeliveries: pending, parkedDeliveries: 0, unreadableDeliveries: 0, queuedReplies: queued,
            pendingReferences: 0, waitingBytes: 0, lastSyncFailure: failure, indexedMessages: 0,
            quarantinedConversations: quarantined, refusedConversations: refused,
            checkpointFailure: checkpointFailure)
    }

    private static func facts(
        _ statistics: StoreStatistics = statistics(), _ change: (inout ReadinessFacts) -> Void = { _ in }
    ) -> ReadinessFacts {
        var facts = ReadinessFacts(statistics: statistics)
        change(&facts)
        return facts
    }

    private static func pause(
        of business: BusinessID?, _ cause: OutboxPause.Cause, isExplained: Bool = true
    ) -> GatewayHealth.Report {
        GatewayHealth.Report(
            business: business, cause: cause, since: Timestamp(milliseconds: 0), isExplained: isExplained)
    }

    private static func damage(isHarmful: Bool) -> JournalRepair {
        JournalRepair(
            lostRecords: [7...9], segments: ["000000000001.jsonl"], heldConversations: 1, isHarmful: isHarmful
        )
    }

    /// Facts with one problem, the check that reports it, and its state in words.
    private static let problems: [(ReadinessFacts, String)] = [
        (facts { $0.phase = .starting }, "start: failing: starting"),
        (facts { $0.phase = .draining }, "draining: failing: draining"),
        (
            facts(statistics(failure: SystemError("fdatasync", code: 5))),
            "journal: failing: journal writes fail"
        ),
        (
            facts { ($0.freeBytes, $0.minimumFreeBytes) = (3 << 20, 64 << 20) },
            "disk: failing: 3 MiB are free on the disk, 64 MiB are required: free space on it"
        ),
        (
            facts { $0.damage = damage(isHarmful: true) },
            "journal-records: failing: journal records 7-9 are lost: run balloon journal repair"
        ),
        (
            facts { $0.damage = damage(isHarmful: false) },
            "journal-records: degraded: finished journal records are damaged: run balloon journal repair"
        ),
        (
            facts { $0.recentJournalFailure = SystemError("write", code: 28) },
            "journal: degraded: journal writes failed within the last minute: free space on the disk or check it"
        ),
        (facts { $0.isOwnerInDoubt = true }, "journal: failing: the store's database does not answer"),
        (
            facts(statistics(failure: .notKept)), "journal: failing: the store's database does not answer"
        ),
        (
            facts { $0.recentJournalFailure = .notKept },
            "journal: degraded: the store's database did not answer within the last minute"
        ),
        (
            facts { $0.areDeliveriesPaused = true },
            "deliveries: degraded: deliveries are paused because disk writes fail: free space on the disk or check it"
        ),
        (
            facts(statistics(pending: 6)) { $0.maximumPendingDeliveries = 10 },
            "backlog: degraded: 6 of at most 10 deliveries are pending: see balloon status"
        ),
        (
            facts(statistics(quarantined: 1)),
            "damaged-conversations: degraded: 1 conversation is quarantined: run balloon conversations rebuild"
        ),
        (
            facts(statistics(refused: 2)),
            "refused-conversations: degraded: 2 conversations are not written: see the log for the reason"
        ),
        (
            facts(statistics(checkpointFailure: "reason")),
            "checkpoints: degraded: checkpoints fail: see the log for the reason"
        ),
        (
            facts(statistics(queued: 3)) {
                $0.pauses = [pause(of: nil, .refused(status: 403, reason: "secret words"))]
            },
            "gateway-credential: degraded: the gateway refuses the credential with 403, 3 replies wait: check the secret and the clock"
        ),
        (
            facts(statistics(queued: 1)) { $0.pauses = [pause(of: nil, .outage(reason: "secret words"))] },
            "outbox: degraded: no replies are sent, 1 reply waits: the gateway does not answer: see the log"
        ),
        (
            facts {
                $0.pauses = [pause(of: BusinessID("b"), .refused(status: 401, reason: "secret words"))]
            },
            "outbox: degraded: no replies of one business are sent, 0 replies wait: the gateway refuses with 401: check its registration with Apple"
        ),
        (
            facts(statistics(queued: 2)) {
                $0.pauses = [
                    pause(
                        of: BusinessID("b"), .refused(status: 403, reason: "secret words"), isExplained: false
                    )
                ]
            },
            "outbox: degraded: no replies of one business are sent, 2 replies wait: the gateway refuses with 403, cause unknown: see the log"
        ),
        (
            facts { $0.unexplainedRefusals = .init(count: 1, status: 403) },
            "outbox: degraded: the gateway refuses 1 reply with 403, cause unknown: see the log"
        ),
        (
            facts { $0.handlersDown = 2 },
            "handlers: degraded: 2 handlers are down: run balloon handlers list"
        ),
    ]

    @Test(arguments: problems.indices)
    func `each problem is reported by one check, and only failing checks make the server unready`(
        index: Int
    ) {
        let (facts, line) = Self.problems[index]
        let readiness = Readiness(checks: facts.checks)
        #expect(
            readiness.verbose.split(separator: "\n").filter { !$0.hasSuffix(": ok") }.map(String.init)
                == [line])
        #expect(readiness.isReady == !line.contains(": failing: "))
        #expect(readiness.word == (readiness.isReady ? "ok\n" : "not ready\n"))
    }

    @Test func `without a problem every check is ok, also at half of the backlog and at the disk's floor`() {
        let facts = Self.facts(Self.statistics(pending: 5, queued: 9)) {
            $0.maximumPendingDeliveries = 10
            ($0.freeBytes, $0.minimumFreeBytes) = (64 << 20, 64 << 20)
        }
        #expect(facts.checks.allSatisfy { $0.state == .ok })
        #expect(Readiness(checks: facts.checks).summary == "ok\n")
        #expect(facts.checks.count == 13)
    }

    @Test func `unknown free space is no problem`() {
        let facts = Self.facts { ($0.freeBytes, $0.minimumFreeBytes) = (nil, 64 << 20) }
        #expect(Readiness(checks: facts.checks).isReady)
    }

    @Test func `below the disk's floor the public listener says only that the server is not ready`()
        async throws
    {
        let server = try await ServerUnderTest {
            $0.adminListen = .required(Self.anyPort)
            $0.store.minimumFreeBytes = 1 << 60
        }
        let open = try await server.answer(server.url + "/readyz?verbose")
        #expect(open.status == 503)
        #expect(open.text == "not ready\n")
        let admin = try await server.answer(try #require(server.adminURL) + "/readyz?verbose")
        #expect(admin.status == 503)
        #expect(admin.text.contains("\ndisk: failing: "))
        #expect(try await server.control("/readyz").status == 503)
        await server.stop()
    }
}
