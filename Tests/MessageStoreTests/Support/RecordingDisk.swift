import BalloonPOSIX
import MessageStore
import Synchronization

/// A disk that works normally and records every call, with the store's promises between the calls.
final class RecordingDisk: StoreDisk {
    enum Call: Sendable {
        case name(String)
        case append(String, [UInt8])
        case write(String, [UInt8], at: Int)
        case cut(String, Int)
        case sync(String)
        /// A failed sync: the data may be on disk or not, and is not synced again.
        case failedSync(String)
        case remove(String)
        case folder(String)
        case syncNames(String)
        case syncAll
        case promise(Promise)
    }

    /// The answers of the store so far.
    enum Promise: Hashable, Sendable {
        case acknowledged(String)
        case decided(String)
        case accepted(String)
    }

    private struct State {
        var calls: [Call] = []
        /// The files are retained, so that no two have the same identity.
        var paths: [ObjectIdentifier: (file: File, path: String)] = [:]
        var fails = false
    }

    private let state = Mutex(State())
    private let disk = SystemDisk()

    var calls: [Call] { state.withLock { $0.calls } }

    func note(_ promise: Promise) { add(.promise(promise)) }
    func failNextSync() { state.withLock { $0.fails = true } }

    private func add(_ call: Call) { state.withLock { $0.calls.append(call) } }
    private func add(_ file: File, _ call: (String) -> Call) {
        state.withLock { state in
            if let path = state.paths[ObjectIdentifier(file)]?.path { state.calls.append(call(path)) }
        }
    }
    private func know(_ file: File, _ path: String) {
        state.withLock { $0.paths[ObjectIdentifier(file)] = (file, path) }
    }

    func create(_ path: String) throws(SystemError) -> File {
        let file = try disk.create(path)
        know(file, path)
        add(.name(path))
        add(.syncNames(Directory.parent(of: path)))
        return file
    }

    func open(_ path: String) throws(SystemError) -> File {
        let isNew = !Directory.exists(path)
        let file = try disk.open(path)
        know(file, path)
        if isNew { add(.name(path)) }
        return file
    }

    func openExisting(_ path: String) throws(SystemError) -> File {
        let file = try disk.openExisting(path)
        know(file, path)
        return file
    }

    func append(_ bytes: [UInt8], to file: File) throws(SystemError) {
        add(file) { .append($0, bytes) }
        try disk.append(bytes, to: file)
    }

    func write(_ bytes: [UInt8], to file: File, at offset: Int) throws(SystemError) {
        add(file) { .write($0, bytes, at: offset) }
        try disk.write(bytes, to: file, at: offset)
    }

    func fill(_ file: File, _ range: Range<Int>) throws(SystemError) {
        add(file) {
            .write($0, [UInt8](repeating: UInt8(ascii: "\n"), count: range.count), at: range.lowerBound)
        }
        add(file) { .sync($0) }
        try disk.fill(file, range)
    }

    func synchronize(_ file: File) throws(SystemError) {
        let fails = state.withLock { state in
            defer { state.fails = false }
            return state.fails
        }
        add(file) { fails ? .failedSync($0) : .sync($0) }
        if fails { throw SystemError("fdatasync", code: 5) }
    }

    func truncate(_ file: File, to sizeBytes: Int) throws(SystemError) {
        add(file) { .cut($0, sizeBytes) }
        try disk.truncate(file, to: sizeBytes)
    }

    func remove(_ path: String) throws(SystemError) {
        add(.remove(path))
        try disk.remove(path)
    }

    func makeDirectory(_ path: String) throws(SystemError) {
        var missing: [String] = []
        var folder = path
        while !Directory.exists(folder) {
            missing.append(folder)
            folder = Directory.parent(of: folder)
        }
        for folder in missing.reversed() { add(.folder(folder)) }
        try disk.makeDirectory(path)
    }

    func synchronizeDirectory(_ path: String) throws(SystemError) { add(.syncNames(path)) }
    func synchronizeFileSystem(of path: String) throws(SystemError) { add(.syncAll) }
}
