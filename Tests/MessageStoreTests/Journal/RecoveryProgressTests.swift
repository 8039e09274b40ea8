import Synchronization
import Testing

@testable import MessageStore

@Suite struct RecoveryProgressTests {
    @Test func `a recovery reports each segment that it has read`() async throws {
        let directory = StoreDirectory()
        let store = try directory.open { $0.maximumSegmentBytes = 1 }
        for number in 0..<3 { _ = await store.append(message("m\(number)")) }
        await store.close()
        let parts = Parts()
        let again = try directory.open { $0.recoveryDidAdvance = { parts.add() } }
        #expect(parts.count >= 2)
        await again.close()
    }
}

private final class Parts: Sendable {
    private let number = Mutex(0)
    var count: Int { number.withLock { $0 } }
    func add() { number.withLock { $0 += 1 } }
}
