import BalloonMetrics
import BalloonPOSIX
import Dispatch
import Synchronization

/// The stream of log lines to standard error; a caller never waits for a slow reader of the stream.
///
/// A separate queue writes the lines in batches: after five milliseconds, or when 16 KiB are buffered. An
/// urgent line is written immediately, together with earlier ones. When a slow reader fills the buffer, lines
/// are dropped and counted, and the count is logged as soon as possible.
package final class LogStream: Sendable {
    /// The stream to the process's standard error, which all log lines share.
    package static let standardError = LogStream { StandardStream.error.write($0) }

    /// The state of the writing queue.
    fileprivate enum Writer {
        case idle
        /// A timer is set; more lines may be added.
        case collecting
        /// A job of the queue writes, or will start to.
        case writing
    }

    fileprivate struct State {
        var pending: [UInt8] = []
        /// The buffer for new lines during a write.
        var spare: [UInt8] = []
        var writer = Writer.idle
        /// Whether a pending line is urgent, or a caller waits for it.
        var isUrgent = false
        var dropped = 0
        var flushing: [DispatchSemaphore] = []
        /// Whether a flush timed out, and nothing was written since.
        var isStuck = false

        var isDue: Bool { isUrgent || !flushing.isEmpty || pending.count >= LogStream.batchBytes }
    }

    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "balloon.log")
    private let maximumPendingBytes: Int
    private let output: @Sendable ([UInt8]) -> Void
    /// The number of lines that were dropped since the start.
    let dropped = Counter()

    private static let batchTime = DispatchTimeInterval.milliseconds(5)
    fileprivate static let batchBytes = 16 << 10
    /// The largest buffer that is kept after a write; a burst of lines may need a larger one.
    private static let maximumKeptBytes = 256 << 10

    init(maximumPendingBytes: Int = 4 << 20, output: @escaping @Sendable ([UInt8]) -> Void) {
        self.maximumPendingBytes = maximumPendingBytes
        self.output = output
    }

    /// Adds a line with its line feed, on any thread, and never blocks.
    ///
    /// `describeDropped` formats the number of lost lines.
    package func write(_ line: [UInt8], isUrgent: Bool = false, describeDropped: (Int) -> [UInt8]) {
        let next = state.withLock { state -> Writer? in
            let count = state.pending.count
            if state.dropped > 0 { state.pending += describeDropped(state.dropped) }
            guard count + line.count <= maximumPendingBytes else {
                state.pending.removeLast(state.pending.count - count)
                state.dropped += 1
                dropped.add()
                return nil
            }
            state.pending += line
            state.dropped = 0
            if isUrgent { state.isUrgent = true }
            return state.advance()
        }
        begin(next)
    }

    /// Waits at most `time` until every added line is written; false at the timeout.
    @discardableResult
    package func flush(within time: Duration) -> Bool {
        let done = DispatchSemaphore(value: 0)
        let next = state.withLock { state in
            state.flushing.append(done)
            return state.advance()
        }
        begin(next)
        if done.wait(timeout: .now() + max(.zero, time).dispatchInterval) == .success { return true }
        state.withLock { $0.isStuck = true }
        return false
    }

    /// Whether a flush timed out, and the reader has not read since.
    package var isStuck: Bool { state.withLock { $0.isStuck && $0.writer == .writing } }

    private func begin(_ writer: Writer?) {
        switch writer {
        case .collecting: queue.asyncAfter(deadline: .now() + Self.batchTime) { self.drain() }
        case .writing: queue.async { self.drain() }
        case .idle, nil: break
        }
    }

    /// Writes the pending lines, and repeats while more are due.
    private func drain() {
        var lines = state.withLock { state in
            var lines: [UInt8] = []
            swap(&lines, &state.spare)
            return lines
        }
        while true {
            let flushing = state.withLock { state in
                swap(&lines, &state.pending)
                state.writer = .writing
                state.isUrgent = false
                defer { state.flushing = [] }
                return state.flushing
            }
            if !lines.isEmpty {
                output(lines)
                state.withLock { $0.isStuck = false }
            }
            for waiting in flushing { waiting.signal() }
            if lines.capacity > Self.maximumKeptBytes { lines = [] }
            lines.removeAll(keepingCapacity: true)
            let next = state.withLock { state -> Writer? in
                guard !state.isDue else { return nil }
                swap(&lines, &state.spare)
                state.writer = .idle
                return state.pending.isEmpty ? .idle : state.advance()
            }
            if let next { return begin(next) }
        }
    }
}

extension LogStream.State {
    /// Decides the next step for the pending lines; nil when a step is already in progress.
    fileprivate mutating func advance() -> LogStream.Writer? {
        switch (writer, isDue) {
        case (.writing, _), (.collecting, false): return nil
        case (.idle, false): writer = .collecting
        case (.idle, true), (.collecting, true): writer = .writing
        }
        return writer
    }
}
