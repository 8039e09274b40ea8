import CLinux
package import Dispatch
import Glibc
import Synchronization

/// Writes to a pipe, buffering in memory while the reader is slow; belongs to one queue.
package final class PipeWriter: Sendable {
    private struct State {
        var pending = Deque<[UInt8]>()
        /// The number of bytes of the first pending array that are written already.
        var offset = 0
        var pendingBytes = 0
        var ticket: DescriptorLoop.Ticket?
        /// The pipe's descriptor; nil after closing.
        var descriptor: OwnedDescriptor?
    }

    private let queue: DispatchQueue
    private let loop: DescriptorLoop
    private let maximumPendingBytes: Int
    private let state: Mutex<State>

    /// Takes ownership of `raw`, which must be non-blocking.
    package init(owning raw: Int32, queue: DispatchQueue, loop: DescriptorLoop, maximumPendingBytes: Int) {
        self.queue = queue
        self.loop = loop
        self.maximumPendingBytes = maximumPendingBytes
        state = Mutex(State(descriptor: OwnedDescriptor(owning: raw)))
    }

    /// Writes `bytes` now or when the pipe has room; returns false when the pipe is closed or broken, or the
    /// buffer is full.
    package func write(_ bytes: [UInt8]) -> Bool {
        state.withLock { state in
            guard state.descriptor != nil, state.pendingBytes + bytes.count <= maximumPendingBytes else {
                return false
            }
            state.pending.append(bytes)
            state.pendingBytes += bytes.count
            if state.ticket == nil { drain(&state) }
            return state.descriptor != nil
        }
    }

    /// Whether the reader has read everything; also true when the pipe is closed or broken.
    package var isDrained: Bool {
        state.withLock { state in
            guard let descriptor = state.descriptor else { return true }
            var unread: Int32 = 0
            // Sound: one number is written. pipe(7): FIONREAD counts the bytes in the pipe, at either end.
            let status = unsafe ioctl(descriptor.raw, UInt(FIONREAD), &unread)
            return state.pending.isEmpty && (status < 0 || unread == 0)
        }
    }

    /// Closes the pipe and discards buffered bytes.
    package func close() { state.withLock { close(&$0) } }

    private func close(_ state: inout State) {
        if let ticket = state.ticket { loop.stopWaiting(ticket) }
        state = State()
    }

    private func drain(_ state: inout State) {
        guard let descriptor = state.descriptor else { return }
        while let bytes = state.pending.first {
            do throws(SystemError) {
                let count = try descriptor.write(bytes, from: state.offset)
                state.offset += count
                state.pendingBytes -= count
            } catch {
                guard error.wouldBlock else { return close(&state) }
                return wait(for: descriptor, &state)
            }
            guard state.offset == bytes.count else { continue }
            _ = state.pending.popFirst()
            state.offset = 0
        }
    }

    private func wait(for descriptor: OwnedDescriptor, _ state: inout State) {
        do throws(SystemError) {
            state.ticket = try loop.wait(for: descriptor.raw, .writable, on: queue) { self.becameReady() }
        } catch {
            close(&state)
        }
    }

    private func becameReady() {
        state.withLock { state in
            state.ticket = nil
            drain(&state)
        }
    }
}
