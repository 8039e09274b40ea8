import CLinux
import Glibc

/// An event counter (`eventfd`) with which other threads make the wait of an ``Epoll`` return.
package struct WakeUp: ~Copyable, Sendable {
    private let descriptor: Descriptor

    /// Creates a counter without a signal.
    package init() throws(SystemError) {
        let flags = Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK)
        descriptor = Descriptor(owning: try uninterrupted("eventfd") { eventfd(0, flags) })
    }

    /// The descriptor's number, for an ``Epoll``; readable while signalled.
    package var raw: Int32 { descriptor.raw }

    /// Makes the descriptor readable, from any thread.
    package func signal() {
        // The write fails only when the counter is at its maximum, and then the descriptor is readable
        // already.
        _ = eventfd_write(descriptor.raw, 1)
    }

    /// Makes the descriptor unreadable.
    package func clear() {
        var value: eventfd_t = 0
        _ = unsafe eventfd_read(descriptor.raw, &value)
    }
}
