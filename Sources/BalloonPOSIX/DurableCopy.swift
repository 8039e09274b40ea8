import Glibc
import Synchronization

/// A place other than this machine's disk that keeps the files of a directory, so that they are durable there.
///
/// ``File`` and ``Directory`` call it for each change that would be synced. Every call may block.
package protocol DurableCopy: AnyObject, Sendable {
    /// The directory, as an absolute path without symbolic links.
    var root: String { get }
    /// Runs `change`, which gives these files another content than one that only grows, and keeps them later.
    ///
    /// Files that are of this machine only are not kept.
    func change(_ paths: [String], _ change: () throws(SystemError) -> Void) throws(SystemError)
    /// Waits until the content that the files have now is kept.
    func synchronize(_ paths: [String]) throws(SystemError)
    /// Waits until all earlier changes of the entries of a folder are kept.
    func synchronize(entriesOf folder: String) throws(SystemError)
}

/// The copies of this process, one for each directory.
package enum DurableCopies {
    private static let copies = Mutex<[any DurableCopy]>([])
    /// The number of copies, so that a process without one pays nothing.
    private static let count = Atomic(0)

    /// Begins to make the files of `copy`'s directory durable there instead of on the disk.
    package static func begin(_ copy: any DurableCopy) {
        copies.withLock { $0.append(copy) }
        count.add(1, ordering: .sequentiallyConsistent)
    }

    /// Ends what ``begin(_:)`` began.
    package static func end(_ copy: any DurableCopy) {
        count.subtract(1, ordering: .sequentiallyConsistent)
        copies.withLock { $0.removeAll { $0 === copy } }
    }

    /// The copy that keeps the files below `path`; nil when the disk does.
    ///
    /// A path is absolute, or relative to the working directory; symbolic links above the directory are followed.
    package static func of(_ path: String) -> (copy: any DurableCopy, path: String)? {
        guard count.load(ordering: .relaxed) > 0 else { return nil }
        let name =
            path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[path.utf8.index(after: $0)...] }
            ?? path[...]
        // The file itself may be missing; its folder is not.
        guard let folder = ProcessPaths.resolved(Directory.parent(of: path)) else { return nil }
        return find(folder + "/" + name)
    }

    /// Waits until a copy keeps the content that these files of one directory have now; returns false when the disk does.
    package static func synchronize(_ paths: [String]) throws(SystemError) -> Bool {
        let kept = paths.compactMap { of($0) }
        guard let copy = kept.first?.copy else { return false }
        try copy.synchronize(kept.map(\.path))
        return true
    }

    /// The copy that keeps an open file, with the file's present path.
    static func of(_ descriptor: Int32) -> (copy: any DurableCopy, path: String)? {
        guard count.load(ordering: .relaxed) > 0 else { return nil }
        return ProcessPaths.open(descriptor).flatMap(find)
    }

    private static func find(_ path: String) -> (copy: any DurableCopy, path: String)? {
        copies.withLock { copies in
            copies.first { path.utf8.starts(with: ($0.root + "/").utf8) }.map { ($0, path) }
        }
    }
}
