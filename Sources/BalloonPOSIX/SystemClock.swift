import CLinux
import Glibc

/// The kernel's clocks, read without a system call.
package enum SystemClock {
    /// Milliseconds since an arbitrary moment; monotonic; accurate to a few milliseconds.
    package static func coarseMilliseconds() -> UInt64 {
        let time = read(CLOCK_MONOTONIC_COARSE)
        return UInt64(time.tv_sec) * 1000 + UInt64(time.tv_nsec) / 1_000_000
    }

    /// Nanoseconds since an arbitrary moment; monotonic.
    package static func nanoseconds() -> UInt64 {
        let time = read(CLOCK_MONOTONIC)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// The time since an arbitrary moment; monotonic, and it continues while the machine sleeps.
    package static func sinceBoot() -> Duration {
        let time = read(CLOCK_BOOTTIME)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// Whole seconds since 1970-01-01 00:00 UTC.
    package static func secondsSince1970() -> Int { read(CLOCK_REALTIME_COARSE).tv_sec }

    private static func read(_ clock: clockid_t) -> timespec {
        var time = timespec()
        // This call cannot fail, because Linux has every clock that this file reads.
        _ = unsafe clock_gettime(clock, &time)
        return time
    }
}
