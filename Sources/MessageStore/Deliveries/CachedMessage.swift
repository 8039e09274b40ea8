import Synchronization

/// A message that stays in memory from its request to the end of its delivery, so that it is not read back from the journal.
final class CachedMessage: Sendable {
    let message: ReceivedMessage
    private let budget: MemoryBudget
    private let bytes: Int

    fileprivate init(_ message: ReceivedMessage, _ bytes: Int, _ budget: MemoryBudget) {
        self.message = message
        self.bytes = bytes
        self.budget = budget
    }

    deinit { budget.release(bytes) }
}

/// A bound on the bytes of what is kept in memory only to save reading it again.
final class MemoryBudget: Sendable {
    private let used = Atomic(0)
    private let maximumBytes: Int
    /// What a message needs besides its text.
    private static let overheadBytes = 512

    init(maximumBytes: Int) { self.maximumBytes = maximumBytes }

    /// The message in memory; nil when there is no room, or when it is so large that it would displace many others.
    func keep(_ message: ReceivedMessage) -> CachedMessage? {
        let bytes = message.message.count + Self.overheadBytes
        guard bytes <= maximumBytes / 64 else { return nil }
        if used.add(bytes, ordering: .relaxed).newValue > maximumBytes {
            release(bytes)
            return nil
        }
        return CachedMessage(message, bytes, self)
    }

    fileprivate func release(_ bytes: Int) { used.subtract(bytes, ordering: .relaxed) }
}
