import BalloonPOSIX
import Dispatch
import Logging
import Synchronization

/// Ends a process that exceeds its limit for stopping: exits with 1 and logs the unfinished work.
///
/// The limit uses threads of its own, so that no handler, disk, download or log reader can delay it.
final class ShutdownLimit: Sendable {
    private struct State {
        var deadline: DeadlineThread?
        /// The time at which the deadline expires.
        var endsAt: ContinuousClock.Instant?
        var server: RunningServer?
    }

    private let initial: Duration
    private let logger: Logger
    private let state = Mutex(State())

    /// The part of the time limit that is reserved for writing the last log line.
    private static let reportTime = Duration.milliseconds(500)

    /// Allows `initial` for a stop before a server is set; then the server's own limit applies.
    init(_ initial: Duration, logger: Logger) {
        self.initial = initial
        self.logger = logger
    }

    /// Sets the server whose unfinished work is logged.
    func watch(_ server: RunningServer) {
        let hasBegun = state.withLock { state in
            state.server = server
            return state.deadline != nil
        }
        if hasBegun { server.recordStop() }
    }

    /// Starts the time limit; called when the process is asked to stop.
    func begin() {
        let limit = state.withLock { $0.server }?.shutdownTime ?? initial
        let deadline = DeadlineThread(after: limit - Self.reportTime) { self.expire() }
        let server = state.withLock { state in
            state.deadline = deadline
            state.endsAt = .now + (limit - Self.reportTime)
            return state.server
        }
        server?.recordStop()
    }

    /// Waits until the log is written, at most three seconds and not beyond the limit; does nothing unless the
    /// process was asked to stop.
    func flushLog() {
        guard let endsAt = state.withLock({ $0.endsAt }) else { return }
        // The deadline must not expire during the wait: nothing is unfinished.
        LogStream.standardError.flush(within: min(.seconds(3), endsAt - .now - .milliseconds(100)))
    }

    /// Whether the process was asked to stop.
    var hasBegun: Bool { state.withLock { $0.deadline != nil } }

    /// Cancels the time limit; called when the stop is complete.
    func end() {
        state.withLock { state in
            state.deadline?.cancel()
            state = State()
        }
    }

    /// Logs the unfinished work and exits with 1, because the process did not stop in time.
    func expire() -> Never {
        let isReported = DispatchSemaphore(value: 0)
        _ = DeadlineThread(after: .zero) {
            self.report()
            isReported.signal()
        }
        // A locked store or a slow reader of the log may block the report; the process exits after 500 ms
        // anyway.
        _ = isReported.wait(timeout: .now() + .milliseconds(500))
        ProcessEnd.exitAtOnce(1)
    }

    /// Logs the unfinished work.
    func report() {
        let leftover = state.withLock { $0.server }?.leftover
        logger.error(
            "server did not stop in time; exiting with unfinished work", metadata: leftover?.metadata ?? [:])
        LogStream.standardError.flush(within: .milliseconds(400))
    }
}

/// The unfinished work when a stop reaches its limit; the next start resumes every acknowledged message.
package struct Leftover: Sendable, Hashable {
    /// The number of client connections, each possibly with an unanswered request.
    package var connections: Int
    /// The number of handler calls that have not returned.
    package var handlerCalls: Int
    /// The number of unfinished deliveries, including those that were not started.
    package var pendingDeliveries: Int
    /// Replies that were decided and not sent.
    package var queuedReplies: Int

    var metadata: Logger.Metadata {
        [
            "connections": "\(connections)", "handler_calls": "\(handlerCalls)",
            "pending_deliveries": "\(pendingDeliveries)", "queued_replies": "\(queuedReplies)",
        ]
    }
}
