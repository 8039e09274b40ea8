import CLinux
package import Dispatch
import Glibc
import Synchronization

/// Tells when something in directories changes: a file is written, comes, goes or is renamed (inotify).
///
/// Changes that come together are told once, when nothing has happened for a moment: an editor that saves makes five.
package final class DirectoryWatch {
    private let source: any DispatchSourceRead
    private static let events =
        UInt32(IN_CLOSE_WRITE) | UInt32(IN_CREATE) | UInt32(IN_MOVED_TO) | UInt32(IN_MOVED_FROM)
        | UInt32(IN_DELETE)

    /// Watches `paths`; `changed` is called on `queue`, `quiet` after the last change of several.
    ///
    /// Throws when a directory is not there, or the system watches too many already.
    package init(
        _ paths: [String], queue: DispatchQueue, quiet: Duration = .milliseconds(200),
        changed: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        let descriptor = OwnedDescriptor(
            Descriptor(
                owning: try uninterrupted("inotify_init1") { inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK)) })
        )
        for path in paths {
            // Sound: the string lives for the call.
            _ = try uninterrupted("inotify_add_watch") {
                unsafe inotify_add_watch(descriptor.raw, path, Self.events)
            }
        }
        let pause = QuietPause(quiet, on: queue, over: changed)
        source = DispatchSource.makeReadSource(fileDescriptor: descriptor.raw, queue: queue)
        source.setEventHandler { @Sendable in
            // What exactly happened does not matter, and an overflow is a change too.
            while let bytes = try? descriptor.read(16384), !bytes.isEmpty {}
            pause.begin()
        }
        source.setCancelHandler { @Sendable in withExtendedLifetime(descriptor) {} }
        source.activate()
    }

    deinit { source.cancel() }
}

/// Waits for a moment in which nothing begins.
private final class QuietPause: Sendable {
    private let nanoseconds: UInt64
    private let queue: DispatchQueue
    private let over: @Sendable () -> Void
    private let state = Mutex<(last: UInt64, isArmed: Bool)>((0, false))

    init(_ time: Duration, on queue: DispatchQueue, over: @escaping @Sendable () -> Void) {
        nanoseconds = UInt64(
            time.components.seconds * 1_000_000_000 + time.components.attoseconds / 1_000_000_000)
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
