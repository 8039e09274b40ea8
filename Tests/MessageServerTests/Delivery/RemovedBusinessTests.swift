import BalloonPOSIX
import BusinessMessages
import MessageStore
import TestSupport
import Testing

@testable import MessageServer

struct RemovedBusinessTests {
    private let directory = TemporaryDirectory()
    private let log = LogCollector()

    @Test func `old messages of a business become dead letters only when its removal is as old`() async throws
    {
        let store = try Store.open(StoreConfiguration(directory: directory.file("data")), logger: log.logger)
        let business = BusinessID("removed")
        let message = ReceivedMessage(
            business: business, customer: CustomerID("c"), id: MessageID("m"), message: Array("{}".utf8),
            receivedAt: Timestamp.now().advanced(by: .seconds(-8 * 86_400)))
        await withCheckedContinuation { stored in store.append(message) { _ in stored.resume() } }
        let week = Duration.seconds(7 * 86_400)
        // Each check uses a new value, like a check in a process of its own.
        let look = { [directory, log] (now: Timestamp) in
            var looks = RemovedBusinesses(
                store: store, dataDirectory: directory.file("data"), age: week, logger: log.logger,
                isServed: { _ in false })
            await looks.look(at: now)
        }
        let now = Timestamp.now()
        await look(now)
        await look(now.advanced(by: week - .seconds(1)))
        #expect(store.statistics.pendingDeliveries == 1)
        await look(now.advanced(by: week))
        #expect(store.statistics.pendingDeliveries == 0)
        await store.close()
    }
}
