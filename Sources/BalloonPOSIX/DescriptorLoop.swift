import CLinux
package import Dispatch
import Glibc
import Synchronization

/// An event loop for the pipes of child processes, with one epoll set and one Dispatch source for all pipes.
///
/// Invariant: each wait calls its handler at most once, on the queue given for the wait. After
/// ``stopWaiting(_:)`` the handler runs only if its call was already enqueued.
///
/// One Dispatch source for each descriptor would be unsafe: libdispatch on Linux reads a source's record while
/// another thread cancels and frees it. That is likely here, because the end of a child makes all of its
/// descriptors ready at the same moment. HTTP shards have their own ``Epoll`` each, which needs neither a lock
/// nor a call through a queue.
package final class DescriptorLoop: Sendable {
    /// A registered wait for one descriptor.
    package struct Ticket: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    private let watches: WatchSet
    private let source: Mutex<any DispatchSourceRead>

    /// Creates a loop that watches nothing.
    package init() throws(SystemError) {
        let watches = try WatchSet()
        self.watches = watches
        source = Mutex(watches.makeSource())
        source.withLock { $0.activate() }
    }

    // Each object that waits retains the loop, so no descriptor is watched any more.
    deinit { source.withLock { $0.cancel() } }

    /// Calls `handler` on `queue` once, when `raw` is ready for `events` or the other end has closed.
    package func wait(
        for raw: Int32, _ events: Epoll.Events, on queue: DispatchQueue,
        _ handler: @escaping @Sendable () -> Void
    ) throws(SystemError) -> Ticket {
        Ticket(number: try watches.add(raw, events, queue, handler))
    }

    /// Cancels the wait, so that the descriptor may be closed; a handler that is already enqueued still runs.
    package func stopWaiting(_ ticket: Ticket) { watches.remove(ticket.number) }
}

/// The epoll set and the waits in it.
private final class WatchSet: Sendable {
    private struct Watch {
        let raw: Int32
        let queue: DispatchQueue
        let handler: @Sendable () -> Void
    }

    private struct State: ~Copyable {
        var epoll: Epoll
        var watches: [UInt64: Watch] = [:]
        var nextNumber: UInt64 = 1

        init() throws(SystemError) { epoll = try Epoll() }
    }

    private let state: Mutex<State>

    init() throws(SystemError) { state = Mutex(try State()) }

    func makeSource() -> sending any DispatchSourceRead {
        let raw = state.withLock { $0.epoll.raw }
        let queue = DispatchQueue(label: "balloon.descriptors")
        let source = DispatchSource.makeReadSource(fileDescriptor: raw, queue: queue)
        source.setEventHandler { self.drain() }
        source.setCancelHandler { withExtendedLifetime(self) {} }
        return source
    }

    func add(
        _ raw: Int32, _ events: Epoll.Events, _ queue: DispatchQueue,
        _ handler: @escaping @Sendable () -> Void
    ) throws(SystemError) -> UInt64 {
        try state.withLock { state throws(SystemError) in
            let number = state.nextNumber
            state.nextNumber += 1
            try state.epoll.add(raw, events, token: number)
            state.watches[number] = Watch(raw: raw, queue: queue, handler: handler)
            return number
        }
    }

    func remove(_ number: UInt64) {
        state.withLock { state in
            guard let watch = state.watches.removeValue(forKey: number) else { return }
            // This cannot fail: a watched descriptor is in the set.
            try? state.epoll.remove(watch.raw)
        }
    }

    private func drain() {
        state.withLock { state in
            while true {
                let count = state.epoll.wait(milliseconds: 0)
                guard count > 0 else { return }
                for index in 0..<count {
                    let token = state.epoll.ready(index).token
                    guard let watch = state.watches.removeValue(forKey: token) else { continue }
                    try? state.epoll.remove(watch.raw)
                    watch.queue.async(execute: watch.handler)
                }
            }
        }
    }
}
