import BalloonPOSIX
import Dispatch

/// The file with the id of a handler's process, for the case that the server is killed and the process
/// survives.
///
/// The next server ends the surviving process. The file `DIRECTORY/process` has the ``ProcessRecord`` of the
/// handler's latest process, and in its second line that of the server. Most programs end by themselves when their
/// standard input ends, so a surviving process is rare.
struct OrphanProcessFile {
    let directory: String

    private var path: String { directory + "/process" }

    /// Ends the recorded process and all processes that it started, if any of them survived its server.
    ///
    /// Sends SIGTERM to the process group, and SIGKILL after `grace`. Returns at once; true means that one of
    /// the processes was still running.
    func end(grace: Duration, queue: DispatchQueue) -> Bool {
        // A process of this server is no orphan: it was replaced, and ends when its payments have ended.
        guard case let (record?, server) = records, !(server?.isRunning ?? false),
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
        try? File(path, for: .creating).append(
            Array("\(record.text)\n\(ProcessRecord.own?.text ?? "")\n".utf8))
    }

    /// Removes the record of `process` after its end, unless the file names a newer process.
    func remove(_ process: Int32) {
        guard records.process?.id == process else { return }
        // If the removal fails, the file names an ended process, which is harmless.
        try? Directory.remove(path)
    }

    private var records: (process: ProcessRecord?, server: ProcessRecord?) {
        // Most often there is no file; an unreadable file is treated in the same way.
        guard let bytes = try? Descriptor.open(reading: path).readToEnd(maximumBytes: 4096) else {
            return (nil, nil)
        }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").prefix(2).map {
            ProcessRecord(String($0))
        }
        return (lines.first ?? nil, lines.count > 1 ? lines[1] : nil)
    }
}
