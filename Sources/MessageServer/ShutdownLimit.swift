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
        var server: RunningServer?
    }

    private let limit: Duration
    private let logger: Logger
    private let state = Mutex(State())

    /// The part of the time limit that is reserved for writing the last log line.
    private static let reportTime = Duration.milliseconds(500)

    init(_ limit: Duration, logger: Logger) {
        self.limit = limit
        self.logger = logger
    }

    /// Sets the server whose unfinished work is logged.
    func watch(_ server: RunningServer) { state.withLock { $0.server = server } }

    /// Starts the time limit; called when the process is asked to stop.
    func begin() {
        let deadline = DeadlineThread(after: limit - Self.reportTime) { self.expire() }
        state.withLock { $0.deadline = deadline }
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
