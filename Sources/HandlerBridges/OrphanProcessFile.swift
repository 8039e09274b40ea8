import BalloonPOSIX
import Dispatch

/// The file with a handler's process id: after a server was killed, the next server ends the surviving
/// process.
///
/// The file `DIRECTORY/process` has one ``ProcessRecord``. Most programs end by themselves when their
/// standard input ends, so a surviving process is rare.
struct OrphanProcessFile {
    let directory: String

    private var path: String { directory + "/process" }

    /// Ends the recorded process and all that it started, if any of them still runs: SIGTERM to its group,
    /// and SIGKILL after `grace`.
    ///
    /// Returns at once; true means that the recorded process, or one that it started, still ran.
    func end(grace: Duration, queue: DispatchQueue) -> Bool {
        // A missing file is normal; an unreadable file is treated like a missing one.
        guard let bytes = try? Descriptor.open(reading: path).readToEnd(maximumBytes: 4096),
            let record = ProcessRecord(String(decoding: bytes, as: UTF8.self)),
            record.signalGroup(TerminationSignal.polite, startedWith: ExecBinder.cookie)
        else { return false }
        queue.asyncAfter(deadline: .now() + grace.dispatchInterval) {
            record.signalGroup(TerminationSignal.final, startedWith: ExecBinder.cookie)
        }
        return true
    }

    /// Records that `process` runs.
    func record(_ process: Int32) {
        guard let record = ProcessRecord(of: process) else { return }
        // The file is not synced, because no process survives a power failure. Errors are ignored, because a
        // full disk must not prevent the start of a handler.
        _ = try? Directory.make(directory)
        try? Directory.remove(path)
        try? File(path, for: .creating).append(Array((record.text + "\n").utf8))
    }

    /// Removes the record: the process has ended.
    func remove() {
        // A file that remains names an ended process, which is harmless.
        try? Directory.remove(path)
    }
}
