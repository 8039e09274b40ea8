import BalloonPOSIX
import BusinessMessages
import Logging
import MessageServer
import MessageStore

/// Creates and reads data directories of any size.
enum DataFiller {
    /// Stores `count` messages, each in its own conversation, and finishes all except `undelivered` of them.
    ///
    /// Does not wait for the disk; prints the time. With `isIndexed` the directory has an index of its conversations.
    static func fill(
        _ configuration: ServerConfiguration, count: Int, undelivered: Int, isIndexed: Bool, body: [UInt8]
    ) async throws {
        guard let business = configuration.businesses.first?.businessID else { return }
        var storeConfiguration = StoreConfiguration(directory: configuration.dataDirectory)
        storeConfiguration.disk = UnsyncedDisk()
        storeConfiguration.keepsIndex = isIndexed
        storeConfiguration.maximumWaitingBytes = .max
        let store = try Store.open(storeConfiguration, logger: Logger(label: "bench"))
        store.startRecording { try store.write($0, as: .timePicker) }
        let began = SystemClock.nanoseconds()
        for start in stride(from: 0, to: count, by: 1000) {
            let end = min(start + 1000, count)
            for number in start..<end {
                store.append(message(number, business, body)) { _ in }
            }
            let finishing = min(end, count - undelivered) - min(start, count - undelivered)
            try await finish(finishing, of: business, in: store)
        }
        await store.close()
        let milliseconds = (SystemClock.nanoseconds() - began) / 1_000_000
        StandardStream.output.write("filled \(count) in \(milliseconds) ms\n")
    }

    /// Reads a thousand random conversations, or a single one a thousand times; prints the microseconds of each.
    static func read(_ configuration: ServerConfiguration, count: Int) throws {
        guard let business = configuration.businesses.first?.businessID else { return }
        let files = ConversationFiles(dataDirectory: configuration.dataDirectory)
        let readings = 1000
        var lines = 0
        let began = SystemClock.nanoseconds()
        for number in 0..<readings {
            lines += try files.lines(of: business, customer(number * 7919 % count)).count
        }
        let microseconds = Double(SystemClock.nanoseconds() - began) / 1000 / Double(readings)
        guard lines == readings else { throw StoreError.closed }
        StandardStream.output.write("read \(microseconds)\n")
    }

    private static func finish(_ count: Int, of business: BusinessID, in store: Store)
        async throws
    {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count {
                guard let delivery = await store.nextDelivery(for: business) else { return }
                group.addTask {
                    try await store.finish(delivery, result: .handled)
                }
            }
            try await group.waitForAll()
        }
    }

    private static func message(_ number: Int, _ business: BusinessID, _ body: [UInt8]) -> ReceivedMessage {
        ReceivedMessage(
            business: business, customer: customer(number), id: MessageID("fill-\(number)"),
            message: body)
    }

    private static func customer(_ number: Int) -> CustomerID { CustomerID("urn:mbid:fill-\(number)") }
}
