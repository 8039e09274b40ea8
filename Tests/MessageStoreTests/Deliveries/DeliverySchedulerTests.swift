import BusinessMessages
import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import MessageStore

@Suite struct DeliverySchedulerTests {
    private let key = ConversationKey(business: BusinessID("b"), customer: CustomerID("c"))

    /// Calls `body` with a scheduler that does not record yet.
    private func withScheduler(_ body: (DeliveryScheduler) async throws -> Void) async throws {
        let directory = StoreDirectory()
        let data = DataDirectory(path: directory.path)
        let lock = try data.take()
        let conversations = try ConversationPartitions(
            data, directory.configuration, logger: directory.log.logger)
        let scheduler = DeliveryScheduler(
            conversations, releaseBackoff: directory.configuration.releaseBackoff,
            suspectPatience: .seconds(60))
        try await body(scheduler)
        await scheduler.stopRecording()
        withExtendedLifetime(lock) {}
    }

    private func add(_ number: UInt64, to scheduler: DeliveryScheduler) {
        let record = JournalledRecord(
            number: number, location: RecordLocation(segment: 1, offset: 0, lengthBytes: 0))
        let pending = PendingDelivery(record, awaitsReference: false, act: .writes)
        scheduler.add([Lease(conversation: key, pending: pending)])
    }

    /// If each call of the recorder needed more stack than the call before, this test would crash the process.
    @Test(.timeLimit(.minutes(2)))
    func `recording the ten thousandth message needs no more stack than recording the first`() async throws {
        try await withScheduler { scheduler in
            scheduler.startRecording { _, _ in
                RecordedLine(recording: .written(.text, repeats: nil), event: nil)
            }
            for number in 1...UInt64(10_000) {
                add(number, to: scheduler)
                let lease = await scheduler.next(for: key.business)
                #expect(lease?.pending.record == number)
                #expect(scheduler.end(number, of: key) { $1 })
            }
        }
    }

    /// The recording task must read the recorder anew for each message.
    ///
    /// A recorder that was read once, before the task looked for messages, may be the missing one of a store that is
    /// still starting; then no message would be recorded.
    @Test(.timeLimit(.minutes(2)))
    func `a message that comes after the recorder was replaced is recorded by the new one`() async throws {
        try await withScheduler { scheduler in
            let isFirstReplaced = DispatchSemaphore(value: 0)
            let records = Mutex<[String: [UInt64]]>([:])
            @Sendable func recorder(
                _ name: String
            ) -> @Sendable (Lease, Bool) -> RecordedLine {
                { lease, _ in
                    records.withLock { $0[name, default: []].append(lease.pending.record) }
                    if lease.pending.record == 1 { isFirstReplaced.wait() }
                    return RecordedLine(recording: .written(.text, repeats: nil), event: nil)
                }
            }
            scheduler.startRecording(recorder("first"))
            add(1, to: scheduler)
            #expect(await eventually { records.withLock { $0["first"] == [1] } })
            scheduler.startRecording(recorder("second"))
            add(2, to: scheduler)
            isFirstReplaced.signal()
            for number in UInt64(1)...2 {
                #expect(await scheduler.next(for: key.business)?.pending.record == number)
                #expect(scheduler.end(number, of: key) { $1 })
            }
            #expect(records.withLock { $0 } == ["first": [1], "second": [2]])
        }
    }
}
