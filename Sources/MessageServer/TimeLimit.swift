/// Runs `work`, and cancels it when `time` is over; returns nil when the time ends first.
///
/// Returns when `work` has ended, so `work` must react to its cancellation. When the caller's task is cancelled, so is `work`, and the
/// result may be nil before the time is over.
func withTimeLimit<Value: Sendable>(
    _ time: Duration, _ work: @escaping @Sendable () async -> Value
) async -> Value? {
    await withTaskGroup(of: Value?.self) { group in
        group.addTask { await work() }
        group.addTask {
            // Work that ends first cancels this sleep.
            try? await Task.sleep(for: time)
            return nil
        }
        defer { group.cancelAll() }
        return await group.next() ?? nil
    }
}
