import BalloonPOSIX
import Dispatch

/// The file that names a handler's process, so that one which outlives a killed server is ended by the next.
///
/// `DIRECTORY/process`: one ``ProcessRecord``. Most programs end by themselves when their standard input does.
struct OrphanProcessFile {
    let directory: String

    private var path: String { directory + "/process" }

    /// Ends the process that the file names and what it started, if any of them still runs: SIGTERM to its group, and
    /// SIGKILL after `grace`.
    ///
    /// Does not wait; whether there was one.
    func end(grace: Duration, queue: DispatchQueue) -> Bool {
        // No file is the rule, and one that cannot be read names nobody.
        guard let bytes = try? Descriptor.open(reading: path).readToEnd(maximumBytes: 4096),
            let record = ProcessRecord(String(decoding: bytes, as: UTF8.self)),
            record.signalGroup(TerminationSignal.polite, startedWith: ExecBinder.cookie)
        else { return false }
        queue.asyncAfter(deadline: .now() + grace.dispatchInterval) {
            record.signalGroup(TerminationSignal.final, startedWith: ExecBinder.cookie)
        }
        return true
    }

    /// Writes down that `process` runs.
    func record(_ process: Int32) {
        guard let record = ProcessRecord(of: process) else { return }
        // Not synced: after a power cut there are no processes. A full disk must not keep a handler from starting.
        _ = try? Directory.make(directory)
        try? Directory.remove(path)
        try? File(path, for: .creating).append(Array((record.text + "\n").utf8))
    }

    /// Forgets it: it has ended.
    func remove() {
        // What stays names a process that no longer is one.
        try? Directory.remove(path)
    }
}
