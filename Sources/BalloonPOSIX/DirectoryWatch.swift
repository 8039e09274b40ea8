import CLinux
package import Dispatch
import Glibc
import Synchronization

/// Reports changes in directories: a file is written, created, removed or renamed (inotify).
///
/// Changes in quick succession are reported once, after the last of them: an editor makes five to save a
/// file.
package final class DirectoryWatch {
    private let source: any DispatchSourceRead
    private static let events =
        UInt32(IN_CLOSE_WRITE) | UInt32(IN_CREATE) | UInt32(IN_MOVED_TO) | UInt32(IN_MOVED_FROM)
        | UInt32(IN_DELETE)

    /// Watches the directories `paths` for changes of files whose names `wanted` accepts.
    ///
    /// Calls `changed` on `queue` once no further change has followed for the time `quiet`.
    ///
    /// Throws when a directory does not exist, or the system's limit of watches is reached.
    package init(
        _ paths: [String], queue: DispatchQueue, quiet: Duration = .milliseconds(200),
        wanted: @escaping @Sendable (String) -> Bool = { _ in true }, changed: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        let descriptor = OwnedDescriptor(
            owning: try uninterrupted("inotify_init1") { inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK)) })
        for path in paths {
            // Sound: the string lives for the call.
            _ = try uninterrupted("inotify_add_watch") {
                unsafe inotify_add_watch(descriptor.raw, path, Self.events)
            }
        }
        let pause = QuietPause(quiet, on: queue, over: changed)
        source = DispatchSource.makeReadSource(fileDescriptor: descriptor.raw, queue: queue)
        source.setEventHandler { @Sendable in
            var hasChanged = false
            // Read until no events are left; the last read then throws `EAGAIN`.
            while let bytes = try? descriptor.read(16384), !bytes.isEmpty {
                hasChanged = hasChanged || Self.hasName(bytes, wanted)
            }
            if hasChanged { pause.begin() }
        }
        source.setCancelHandler { @Sendable in withExtendedLifetime(descriptor) {} }
        source.activate()
    }

    /// Returns whether one of the events concerns a wanted name, or says that the kernel dropped events.
    private static func hasName(_ events: [UInt8], _ wanted: (String) -> Bool) -> Bool {
        // An event has wd, mask, cookie and length in four bytes each, then the name, padded with NULs
        // (inotify(7)).
        var rest = events[...]
        while rest.count >= 16 {
            let start = rest.startIndex
            let mask = number(rest[(start + 4)..<(start + 8)])
            let length = Int(number(rest[(start + 12)..<(start + 16)]))
            guard rest.count >= 16 + length else { return true }
            let name = rest[(start + 16)..<(start + 16 + length)].prefix { $0 != 0 }
            if mask & UInt32(IN_Q_OVERFLOW) != 0 || wanted(String(decoding: name, as: UTF8.self)) {
                return true
            }
            rest = rest.dropFirst(16 + length)
        }
        return false
    }

    /// Returns a number in native byte order; Linux is little-endian on the processors that Swift supports.
    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    deinit { source.cancel() }
}

/// A timer that calls `over` when no change has occurred for a given time.
private final class QuietPause: Sendable {
    private let nanoseconds: UInt64
    private let queue: DispatchQueue
    private let over: @Sendable () -> Void
    private let state = Mutex<(last: UInt64, isArmed: Bool)>((0, false))

    init(_ time: Duration, on queue: DispatchQueue, over: @escaping @Sendable () -> Void) {
        nanoseconds = UInt64(max(0, time.wholeNanoseconds))
        self.queue = queue
        self.over = over
    }

    func begin() {
        let now = SystemClock.nanoseconds()
        let mustArm = state.withLock { state in
            defer { state = (now, true) }
            return !state.isArmed
        }
        if mustArm { arm(for: now + nanoseconds) }
    }

    private func arm(for due: UInt64) {
        queue.asyncAfter(deadline: DispatchTime(uptimeNanoseconds: due)) { self.fire() }
    }

    private func fire() {
        let now = SystemClock.nanoseconds()
        let later = state.withLock { state -> UInt64? in
            if now < state.last + nanoseconds { return state.last + nanoseconds }
            state.isArmed = false
            return nil
        }
        if let later { arm(for: later) } else { over() }
    }
}
