import BalloonPOSIX
import Dispatch
import Logging
import Synchronization

/// Ends a process that was told to stop and is not done within its limit: status 1, and a log line of what it left.
///
/// Works on threads of its own, so that no handler, disk, download or reader of the log can hold it up.
final class ShutdownLimit: Sendable {
    private struct State {
        var deadline: DeadlineThread?
        var server: RunningServer?
    }

    private let limit: Duration
    private let logger: Logger
    private let state = Mutex(State())

    /// For the last log line, within the limit.
    private static let reportTime = Duration.milliseconds(500)

    init(_ limit: Duration, logger: Logger) {
        self.limit = limit
        self.logger = logger
    }

    /// Names the server that the log line is about.
    func watch(_ server: RunningServer) { state.withLock { $0.server = server } }

    /// Begins to count: the process was told to end.
    func begin() {
        let deadline = DeadlineThread(after: limit - Self.reportTime) { self.expire() }
        state.withLock { $0.deadline = deadline }
    }

    /// Whether the process was told to end.
    var hasBegun: Bool { state.withLock { $0.deadline != nil } }

    /// Stops counting: everything has ended.
    func end() {
        state.withLock { state in
            state.deadline?.cancel()
            state = State()
        }
    }

    /// Ends the process, which has not ended by itself.
    func expire() -> Never {
        let isReported = DispatchSemaphore(value: 0)
        _ = DeadlineThread(after: .zero) {
            self.report()
            isReported.signal()
        }
        // The store's locks or the reader of the log may hold up the report, but not the end.
        _ = isReported.wait(timeout: .now() + .milliseconds(500))
        ProcessEnd.exitAtOnce(1)
    }

    /// Logs what was left.
    func report() {
        let leftover = state.withLock { $0.server }?.leftover
        logger.error("the server did not stop in time; the rest is left", metadata: leftover?.metadata ?? [:])
        LogStream.standardError.flush(within: .milliseconds(400))
    }
}

/// What has not ended when a stop reaches its limit; all of it that was acknowledged goes on after a restart.
package struct Leftover: Sendable, Hashable {
    /// Connections of clients; each may have a request that is not answered.
    package var connections: Int
    /// Calls of handlers that have not returned.
    package var handlerCalls: Int
    /// Deliveries that are not finished, those that were never begun among them.
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
