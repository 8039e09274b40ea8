import BalloonPOSIX

extension Task<Void, Never> {
    /// Starts a task that runs `work` at once and after each `pause` until it is cancelled.
    ///
    /// It works on a thread of its own, because `work` reads and writes files.
    static func repeating(every pause: Duration, _ work: @escaping @Sendable () -> Void) -> Self {
        Task(executorPreference: BlockingTaskExecutor()) {
            repeat { work() } while (try? await Task<Never, Never>.sleep(for: pause)) != nil
        }
    }
}
