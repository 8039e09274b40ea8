import BalloonPOSIX
import Dispatch
import Synchronization

/// Standard error for log lines: whoever logs never waits for whoever reads.
///
/// Lines collect in memory and go out together from a queue of their own. What a reader is too slow for is dropped
/// and counted, and the count is said as soon as there is room.
package final class LogStream: Sendable {
    /// The process's one.
    package static let standardError = LogStream { StandardStream.error.write($0) }

    private struct State {
        var pending: [UInt8] = []
        /// Storage for what collects while the rest is written.
        var spare: [UInt8] = []
        var isWriting = false
        var dropped = 0
    }

    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "balloon.log")
    private let maximumPendingBytes: Int
    private let output: @Sendable ([UInt8]) -> Void

    /// A burst may need more; it is not kept.
    private static let maximumKeptBytes = 256 << 10

    init(maximumPendingBytes: Int = 4 << 20, output: @escaping @Sendable ([UInt8]) -> Void) {
        self.maximumPendingBytes = maximumPendingBytes
        self.output = output
    }

    /// Takes a line with its line feed, on any thread, and never blocks.
    ///
    /// `describeDropped` words the count of lost lines.
    package func write(_ line: [UInt8], describeDropped: (Int) -> [UInt8]) {
        write({ $0 += line }, describeDropped: describeDropped)
    }

    /// Lets `append` put a line with its line feed behind those that wait, so that it needs no memory of its own.
    ///
    /// For short work: other threads' lines wait meanwhile.
    package func write(_ append: (inout [UInt8]) -> Void, describeDropped: (Int) -> [UInt8]) {
        let mustStart = state.withLock { state in
            let count = state.pending.count
            if state.dropped > 0 { state.pending += describeDropped(state.dropped) }
            let start = state.pending.count
            append(&state.pending)
            guard count + state.pending.count - start <= maximumPendingBytes else {
                state.pending.removeLast(state.pending.count - count)
                state.dropped += 1
                return false
            }
            state.dropped = 0
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if mustStart { queue.async { self.drain() } }
    }

    /// Returns when everything that was taken has been written; for the end of a command.
    package func flush() { queue.sync {} }

    private func drain() {
        var lines = state.withLock { state in
            var lines: [UInt8] = []
            swap(&lines, &state.spare)
            return lines
        }
        while true {
            let isDone = state.withLock { state in
                swap(&lines, &state.pending)
                state.isWriting = !lines.isEmpty
                if lines.isEmpty { swap(&lines, &state.spare) }
                return !state.isWriting
            }
            if isDone { return }
            output(lines)
            if lines.capacity > Self.maximumKeptBytes { lines = [] }
            lines.removeAll(keepingCapacity: true)
        }
    }
}
