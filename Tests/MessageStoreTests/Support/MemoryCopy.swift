import BalloonPOSIX
import Synchronization

/// Keeps in memory what the store waits for, and nothing else: what another machine has after the death of this one.
final class MemoryCopy: DurableCopy {
    let root: String
    private struct State {
        var files: [String: [UInt8]] = [:]
        var changed: Set<String> = []
        var waits = 0
        var isAway = false
    }

    private let state = Mutex(State())

    /// Keeps the files of a directory that has no files yet.
    init(of directory: String) { root = directory }

    func change(_ paths: [String], _ change: () throws(SystemError) -> Void) throws(SystemError) {
        try state.withLock { state throws(SystemError) in
            try change()
            state.changed.formUnion(paths)
        }
    }

    func synchronize(_ paths: [String]) throws(SystemError) {
        let isAway = state.withLock { state in
            state.waits += 1
            return state.isAway
        }
        if isAway { throw .notKept }
        keep(Set(paths))
    }

    /// Whether nothing is kept at present.
    var isAway: Bool {
        get { state.withLock(\.isAway) }
        set { state.withLock { $0.isAway = newValue } }
    }

    /// How often somebody waited for files.
    var waits: Int { state.withLock(\.waits) }

    func synchronize(entriesOf folder: String) throws(SystemError) {
        keep(
            state.withLock { state in
                let entries = state.changed.filter { Directory.parent(of: $0) == folder }
                state.changed.subtract(entries)
                return entries
            })
    }

    /// Writes what was kept into the directory of `other`, which keeps it from then on.
    func restore(into other: MemoryCopy) throws {
        let files = state.withLock(\.files)
        for (path, bytes) in files {
            let path = other.root + path.dropFirst(root.count)
            try Directory.make(Directory.parent(of: path))
            try File(path, for: .appending).append(bytes)
            other.keep([path])
        }
    }

    /// The kept content of a file; nil when nothing of it was kept.
    func content(_ path: String) -> [UInt8]? { state.withLock { $0.files[path] } }

    private func keep(_ paths: Set<String>) {
        state.withLock { state in
            for path in paths
            where !path.hasSuffix(".new") && !path.hasSuffix("/lock") {
                state.files[path] = try? File(path, for: .reading).readAll()
            }
        }
    }
}
