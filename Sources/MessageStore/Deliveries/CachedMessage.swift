import Synchronization

/// A message that stays in memory until its delivery ends, so that it is not read back from the journal.
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

/// Limits the memory of all cached messages.
final class MemoryBudget: Sendable {
    private let used = Atomic(0)
    private let maximumBytes: Int
    /// The number of bytes of memory that is assumed for each message and its decoded event, in addition to its text.
    private static let overheadBytes = 4096

    init(maximumBytes: Int) { self.maximumBytes = maximumBytes }

    /// Caches the message; returns nil when the cache is full or the message is too large for it.
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
