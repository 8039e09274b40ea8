import BalloonPOSIX
import Dispatch
import Synchronization

/// Standard error for log lines: whoever logs never waits for whoever reads.
///
/// Lines collect in memory and go out together from a queue of their own. What a reader is too slow for is dropped
/// and counted, and the count is said as soon as there is room.
final class LogStream: Sendable {
    /// The process's one.
    static let standardError = LogStream { StandardStream.error.write($0) }

    private struct State {
        var pending: [UInt8] = []
        var isWriting = false
        var dropped = 0
    }

    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "balloon.log")
    private let maximumPendingBytes: Int
    private let output: @Sendable ([UInt8]) -> Void

    init(maximumPendingBytes: Int = 4 << 20, output: @escaping @Sendable ([UInt8]) -> Void) {
        self.maximumPendingBytes = maximumPendingBytes
        self.output = output
    }

    /// Takes a line with its line feed, on any thread, and never blocks.
    ///
    /// `describeDropped` words the count of lost lines.
    func write(_ line: [UInt8], describeDropped: (Int) -> [UInt8]) {
        let mustStart = state.withLock { state in
            guard state.pending.count + line.count <= maximumPendingBytes else {
                state.dropped += 1
                return false
            }
            if state.dropped > 0 {
                state.pending += describeDropped(state.dropped)
                state.dropped = 0
            }
            state.pending += line
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if mustStart { queue.async { self.drain() } }
    }

    /// Returns when everything that was taken has been written; for the end of a command.
    func flush() { queue.sync {} }

    private func drain() {
        while true {
            let lines = state.withLock { state in
                let lines = state.pending
                state.pending = []
                state.isWriting = !lines.isEmpty
                return lines
            }
            if lines.isEmpty { return }
            output(lines)
        }
    }
}
