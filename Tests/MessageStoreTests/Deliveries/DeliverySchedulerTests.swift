import BusinessMessages
import TestSupport
import Testing

@testable import MessageStore

@Suite struct DeliverySchedulerTests {
    /// A call of the recorder that needed more stack than the call before would end the process here.
    @Test(.timeLimit(.minutes(2)))
    func `recording the ten thousandth message needs no more stack than recording the first`() async throws {
        let directory = StoreDirectory()
        let data = DataDirectory(path: directory.path)
        let lock = try data.take()
        let conversations = try ConversationPartitions(
            data, directory.configuration, logger: directory.log.logger)
        let scheduler = DeliveryScheduler(
            conversations, releaseBackoff: directory.configuration.releaseBackoff,
            suspectPatience: .seconds(60))
        scheduler.startRecording { _, _ in RecordedLine(recording: .written(.text, repeats: nil), event: nil)
        }
        let key = ConversationKey(business: BusinessID("b"), customer: CustomerID("c"))
        for number in 1...UInt64(10_000) {
            let record = JournalledRecord(
                number: number, location: RecordLocation(segment: 1, offset: 0, lengthBytes: 0))
            let pending = PendingDelivery(record, awaitsReference: false, act: .writes)
            scheduler.add([Lease(conversation: key, pending: pending)])
            let lease = await scheduler.next(for: key.business)
            #expect(lease?.pending.record == number)
            #expect(scheduler.finish(number, of: key) != nil)
        }
        await scheduler.stopRecording()
        withExtendedLifetime(lock) {}
    }
}
