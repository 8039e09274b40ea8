import CLinux
package import Dispatch
import Glibc
import Synchronization

/// Reads a pipe and passes the bytes to a closure on a queue.
package final class PipeReader: Sendable {
    private struct State {
        /// The pipe's descriptor; nil after the end of the pipe.
        var descriptor: OwnedDescriptor?
        var ticket: DescriptorLoop.Ticket?
        /// The time until which reading is paused, so that the writer waits; nil without a pause.
        var pause: DispatchTime?
    }

    private let queue: DispatchQueue
    private let loop: DescriptorLoop
    private let take: @Sendable ([UInt8]) -> Void
    private let state: Mutex<State>

    /// Reads from `descriptor`, which must be non-blocking; `take` receives the bytes, and an empty array at the end.
    package init(
        _ descriptor: OwnedDescriptor, queue: DispatchQueue, loop: DescriptorLoop,
        take: @escaping @Sendable ([UInt8]) -> Void
    ) throws(SystemError) {
        self.queue = queue
        self.loop = loop
        self.take = take
        state = Mutex(State(descriptor: descriptor))
        try wait()
    }

    /// Reads the available bytes, at most 1 MiB, and then closes the pipe; must run on the queue.
    package func finish() {
        var chunks = 0
        while chunks < 16, readOnce() { chunks += 1 }
        close()
    }

    /// Pauses reading after the current read; meanwhile the pipe fills up, and its writer blocks.
    package func pause(for time: Duration) {
        state.withLock { $0.pause = .now() + time.dispatchInterval }
    }

    private func close() {
        state.withLock { state in
            if let ticket = state.ticket { loop.stopWaiting(ticket) }
            state = State()
        }
    }

    private func wait() throws(SystemError) {
        try state.withLock { state throws(SystemError) in
            guard let descriptor = state.descriptor else { return }
            state.ticket = try loop.wait(for: descriptor.raw, .readable, on: queue) { self.becameReady() }
        }
    }

    private func becameReady() {
        state.withLock { $0.ticket = nil }
        _ = readOnce()
        if let pause = state.withLock({ state in
            defer { state.pause = nil }
            return state.pause
        }) {
            return queue.asyncAfter(deadline: pause) { [weak self] in self?.goOn() }
        }
        goOn()
    }

    private func goOn() {
        // When the loop cannot watch the descriptor, treat it as the end of the pipe.
        do { try wait() } catch { close() }
    }

    /// Reads once; returns whether more bytes may be available.
    private func readOnce() -> Bool {
        guard let descriptor = state.withLock({ $0.descriptor }) else { return false }
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try descriptor.read(65536)
        } catch {
            if error.wouldBlock { return false }
            bytes = []
        }
        if bytes.isEmpty { close() }
        take(bytes)
        return !bytes.isEmpty
    }
}
