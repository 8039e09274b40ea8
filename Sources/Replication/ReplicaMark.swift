import BalloonPOSIX
import Synchronization

/// The file `replica`, which says of which store the data directory is a copy, and how far.
///
/// ```
/// store 3f2a…
/// replica 91bc…
/// boot 0c1d…
/// through 4711
/// term 5be0…
/// ```
///
/// Beside it, `replica.changes` has the paths of files whose content was replaced since then, a line each. So a start
/// fetches only what may differ: what changed after `through`, those paths, and files of another size; after a restart of
/// the machine everything, because the disk may have lost any of it.
struct ReplicaMark: Equatable {
    /// The store's identity.
    var store: String
    /// This directory's name among the replicas.
    var replica: String
    /// The run of the machine in which the directory was written.
    var boot: String
    /// The number of the last change that is on this disk, with all before it.
    var through: Int64
    /// The term of that change, see ``ReplicaTerm``; empty when it has none.
    var term: String

    init(store: String) {
        self.store = store
        replica = ReplicaTerm.makeID()
        (boot, through, term) = ("", 0, "")
    }

    /// Reads the file of a directory; nil when the directory is no copy.
    init?(in directory: String) throws(SystemError) {
        guard
            let bytes = try SystemError.unlessMissing({ () throws(SystemError) in
                try File(directory + "/" + KeptFiles.mark, for: .reading).readAll()
            })
        else { return nil }
        var values: [Substring: String] = [:]
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 1)
            if words.count == 2 { values[words[0]] = String(words[1]) }
        }
        store = values["store"] ?? ""
        replica = values["replica"] ?? ""
        boot = values["boot"] ?? ""
        through = values["through"].flatMap { Int64($0) } ?? 0
        term = values["term"] ?? ""
    }

    /// The file with the replaced files.
    static let changes = KeptFiles.mark + ".changes"

    /// The name of this machine.
    static func machine() -> String {
        ProcessRecord.text("/proc/sys/kernel/hostname").map { $0.filter { $0 > " " } } ?? ""
    }

    /// Writes the file, once everything below the directory is on this disk.
    func write(in directory: String) throws(SystemError) {
        try Directory.synchronizeFileSystem(of: directory)
        let text = "store \(store)\nreplica \(replica)\nboot \(boot)\nthrough \(through)\nterm \(term)\n"
        try AtomicFile.write(Array(text.utf8), to: directory + "/" + KeptFiles.mark)
    }
}
