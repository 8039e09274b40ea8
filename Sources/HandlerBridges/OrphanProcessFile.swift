import BalloonPOSIX
import Dispatch

/// The file with the id of a handler's process, for the case that the server is killed and the process
/// survives.
///
/// The next server ends the surviving process. The file `DIRECTORY/process` has one ``ProcessRecord``. Most
/// programs end by themselves when their standard input ends, so a surviving process is rare.
struct OrphanProcessFile {
    let directory: String

    private var path: String { directory + "/process" }

    /// Ends the recorded process and all processes that it started, if any of them is still running.
    ///
    /// Sends SIGTERM to the process group, and SIGKILL after `grace`. Returns at once; true means that one of
    /// the processes was still running.
    func end(grace: Duration, queue: DispatchQueue) -> Bool {
        // Most often there is no file; an unreadable file is treated in the same way.
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
        // Do not sync the file, because no process survives a power failure. Ignore errors, because a full
        // disk must not prevent the start of a handler.
        _ = try? Directory.make(directory)
        try? Directory.remove(path)
        try? File(path, for: .creating).append(Array((record.text + "\n").utf8))
    }

    /// Removes the record after the process has ended.
    func remove() {
        // If the removal fails, the file names an ended process, which is harmless.
        try? Directory.remove(path)
    }
}
