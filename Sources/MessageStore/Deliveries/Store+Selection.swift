import BalloonPOSIX
import BusinessMessages
import Dispatch

/// Changes of all messages or replies that satisfy a condition.
///
/// They are changed in slices, each as a whole, because there may be hundreds of thousands. No other operator's
/// change runs meanwhile. Each throws ``PartialChange`` when a slice fails after others were changed.
extension Store {
    /// Replays the finished messages that are `wanted`, as ``replay(_:)-([NamedState])`` does.
    package func replay(
        where wanted: @escaping @Sendable (JournalEvent) -> Bool
    ) async throws -> [ReplayResult<UInt64>] {
        try await changes.run {
            try await self.inSlices(self.records { $0.isFinished && wanted($0) }) { records in
                zip(records, try await self.replay(records)).map {
                    ReplayResult(of: $0, as: $1, isRepetition: false)
                }
            }
        }
    }

    /// Removes the messages that are `wanted` from the dead letters, and returns their records.
    package func dropDead(
        where wanted: @escaping @Sendable (JournalEvent) -> Bool
    ) async throws -> [UInt64] {
        try await changes.run {
            try await self.inSlices(self.records { $0.isDeadLetter && wanted($0) }) { records in
                try await self.drop(records)
                return records
            }
        }
    }

    /// Queues the replies that are dead letters and `wanted` again, as `retry(_:as:of:)` does.
    package func retryReplies(
        where wanted: @escaping @Sendable (JournalReply) -> Bool
    ) async throws -> [ReplayResult<ReplyID>] {
        let chosen = try await deadReplies(wanted)
        return try await inSlices(chosen) { try await self.retry($0) }
    }

    /// Removes the replies that are `wanted` from the dead letters, and returns their names.
    package func dropReplies(
        where wanted: @escaping @Sendable (JournalReply) -> Bool, reason: String
    ) async throws -> [ReplyID] {
        let chosen = try await deadReplies(wanted)
        return try await inSlices(chosen) { replies in
            let before = try await self.drop(replies, reason: reason)
            return replies.filter { !before.contains($0) }
        }
    }

    /// The number of messages or replies that are changed at once.
    private static let sliceCount = 5000

    private func inSlices<Name: Sendable, Result: Sendable>(
        _ names: [Name], _ change: ([Name]) async throws -> [Result]
    ) async throws -> [Result] {
        var results: [Result] = []
        for start in stride(from: 0, to: names.count, by: Self.sliceCount) {
            do {
                results += try await change(Array(names[start..<min(start + Self.sliceCount, names.count)]))
            } catch  where start > 0 {
                throw PartialChange(count: results.count, error: error)
            }
        }
        return results
    }

    /// The records of the messages that are `wanted`; reads the whole journal.
    private func records(
        where wanted: @escaping @Sendable (JournalEvent) -> Bool
    ) async throws -> [UInt64] {
        try await reading { files in
            var records: [UInt64] = []
            try files.forEach(where: wanted) { records.append($0.record) }
            return records
        }
    }

    /// The dead letters among the replies that are `wanted`; reads the whole journal.
    func deadReplies(
        _ wanted: @escaping @Sendable (JournalReply) -> Bool
    ) async throws -> [ReplyID] {
        try await reading { files in
            var replies: [ReplyID] = []
            try files.forEachReply(where: { $0.isDeadLetter && wanted($0) }) { replies.append($0.id) }
            return replies
        }
    }

    /// Reads the journal on a separate queue, so that no other task waits for a thread.
    func reading<Result: Sendable>(
        _ body: @escaping @Sendable (JournalFiles) throws -> Result
    ) async throws -> Result {
        await journal.flush()
        return try await DispatchQueue(label: "balloon.selection").run { [files] in try body(files) }
    }
}

/// A change of many messages that failed after some of them were changed.
package struct PartialChange: Error, CustomStringConvertible {
    /// The number of messages or replies that were changed.
    package let count: Int
    /// The reason why the others were not.
    package let error: any Error

    package var description: String { "\(error); \(count) were changed before, the others were not" }
}
