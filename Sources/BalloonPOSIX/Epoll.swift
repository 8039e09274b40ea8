import CLinux
import Glibc

/// An epoll set: level-triggered readiness of many descriptors, told apart by tokens.
///
/// Its own descriptor is readable while anything in the set is ready, so that one Dispatch source can watch it.
package struct Epoll: ~Copyable {
    /// What a descriptor is watched for, and what it is ready for.
    package struct Events: OptionSet, Sendable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }

        /// Bytes, a connection, or the end of the stream can be received.
        package static let readable = Events(rawValue: EPOLLIN.rawValue)
        /// Bytes can be sent.
        package static let writable = Events(rawValue: EPOLLOUT.rawValue)
        /// The connection is gone in both directions, or failed; always watched for.
        package static let gone = Events(rawValue: EPOLLHUP.rawValue | EPOLLERR.rawValue)
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
        try control(EPOLL_CTL_DEL, raw, [], 0)
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
