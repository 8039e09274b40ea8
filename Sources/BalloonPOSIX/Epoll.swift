import CLinux
import Glibc

/// An epoll set: reports which of many descriptors are ready, level-triggered, by the tokens of the
/// descriptors.
///
/// The descriptor of the set is readable while any descriptor in the set is ready, so that one Dispatch
/// source can watch all of them.
package struct Epoll: ~Copyable {
    /// The events that a descriptor is watched for, or is ready for.
    package struct Events: OptionSet, Sendable {
        package let rawValue: UInt32

        @inlinable package init(rawValue: UInt32) { self.rawValue = rawValue }

        // The kernel's numbers as literals: they never change, and using them costs nothing in frequent
        // calls.

        /// No event; the kernel still reports a disconnected peer.
        @inlinable package static var none: Events { Events(rawValue: 0) }
        /// Bytes or a new connection can be received, or the peer has closed its sending side (`EPOLLIN`).
        @inlinable package static var readable: Events { Events(rawValue: 0x001) }
        /// Bytes can be sent (`EPOLLOUT`).
        @inlinable package static var writable: Events { Events(rawValue: 0x004) }
        /// The connection ended in both directions, or failed (`EPOLLHUP`, `EPOLLERR`); reported even if not
        /// requested.
        @inlinable package static var gone: Events { Events(rawValue: 0x018) }

        /// Whether any of `others` is included.
        @inlinable package func hasAny(of others: Events) -> Bool { rawValue & others.rawValue != 0 }
    }

    private let descriptor: Descriptor
    private var tokens = [UInt64](repeating: 0, count: 256)
    private var events = [UInt32](repeating: 0, count: 256)

    /// Creates an empty set.
    package init() throws(SystemError) {
        descriptor = Descriptor(
            owning: try uninterrupted("epoll_create1") { epoll_create1(Int32(EPOLL_CLOEXEC)) })
    }

    /// The set's own descriptor.
    package var raw: Int32 { descriptor.raw }

    /// Watches `raw`; its events carry `token`.
    package func add(_ raw: Int32, _ events: Events, token: UInt64) throws(SystemError) {
        try control(EPOLL_CTL_ADD, raw, events, token)
    }

    /// Changes the events that `raw` is watched for.
    package func modify(_ raw: Int32, _ events: Events, token: UInt64) throws(SystemError) {
        try control(EPOLL_CTL_MOD, raw, events, token)
    }

    /// Stops watching `raw`.
    ///
    /// Closing a descriptor also removes it from the set, unless the descriptor was duplicated.
    package func remove(_ raw: Int32) throws(SystemError) {
        try control(EPOLL_CTL_DEL, raw, .none, 0)
    }

    /// Waits until at least one descriptor is ready, or until the timeout.
    ///
    /// Returns the number of ready descriptors, at most 256.
    package mutating func wait(milliseconds: Int32) -> Int {
        let raw = descriptor.raw
        let count = unsafe balloon_epoll_wait(raw, &tokens, &events, Int32(tokens.count), milliseconds)
        // EINTR is the only possible error of a valid set, and means that nothing is ready yet.
        return max(0, Int(count))
    }

    /// Returns the token and the events at `index` of the last wait.
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
