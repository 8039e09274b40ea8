import CLinux
import Glibc

/// An epoll set: level-triggered readiness of many descriptors, told apart by tokens.
///
/// Its own descriptor is readable while anything in the set is ready, so that one Dispatch source can watch it.
package struct Epoll: ~Copyable {
    /// What a descriptor is watched for, and what it is ready for.
    package struct Events: OptionSet, Sendable {
        package let rawValue: UInt32

        @inlinable package init(rawValue: UInt32) { self.rawValue = rawValue }

        // The kernel's numbers, spelled out: they never change, and constants cost nothing where every request pays.

        /// Nothing; a peer that is gone is seen all the same.
        @inlinable package static var none: Events { Events(rawValue: 0) }
        /// Bytes, a connection, or the end of the stream can be received (`EPOLLIN`).
        @inlinable package static var readable: Events { Events(rawValue: 0x001) }
        /// Bytes can be sent (`EPOLLOUT`).
        @inlinable package static var writable: Events { Events(rawValue: 0x004) }
        /// The connection is gone in both directions, or failed; always watched for (`EPOLLHUP`, `EPOLLERR`).
        @inlinable package static var gone: Events { Events(rawValue: 0x018) }

        /// Whether any of `others` is among them.
        @inlinable package func hasAny(of others: Events) -> Bool { rawValue & others.rawValue != 0 }
    }

    private let descriptor: Descriptor
    private var tokens = [UInt64](repeating: 0, count: 256)
    private var events = [UInt32](repeating: 0, count: 256)

    /// Makes an empty set.
    package init() throws(SystemError) {
        descriptor = Descriptor(
            owning: try uninterrupted("epoll_create1") { epoll_create1(Int32(EPOLL_CLOEXEC)) })
    }

    /// The set's own descriptor.
    package var raw: Int32 { descriptor.raw }

    /// Watches `raw`; `token` comes back with its events.
    package func add(_ raw: Int32, _ events: Events, token: UInt64) throws(SystemError) {
        try control(EPOLL_CTL_ADD, raw, events, token)
    }

    /// Changes what `raw` is watched for.
    package func modify(_ raw: Int32, _ events: Events, token: UInt64) throws(SystemError) {
        try control(EPOLL_CTL_MOD, raw, events, token)
    }

    /// Stops watching `raw`; closing a descriptor that was never duplicated does the same.
    package func remove(_ raw: Int32) throws(SystemError) {
        try control(EPOLL_CTL_DEL, raw, .none, 0)
    }

    /// Waits for at most 256 descriptors to be ready; returns how many, 0 when the time is up.
    package mutating func wait(milliseconds: Int32) -> Int {
        let raw = descriptor.raw
        let count = unsafe balloon_epoll_wait(raw, &tokens, &events, Int32(tokens.count), milliseconds)
        // EINTR is the only error that a valid set can give, and it means "nothing yet".
        return max(0, Int(count))
    }

    /// The token and events at `index` of the last wait.
    @inline(__always)
    package func ready(_ index: Int) -> (token: UInt64, events: Events) {
        (tokens[index], Events(rawValue: events[index]))
    }

    private func control(_ operation: Int32, _ raw: Int32, _ events: Events, _ token: UInt64)
        throws(SystemError)
    {
        let set = descriptor.raw
        _ = try uninterrupted("epoll_ctl") { balloon_epoll_ctl(set, operation, raw, events.rawValue, token) }
    }
}
