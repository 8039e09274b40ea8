package import BalloonPOSIX

/// The disk operations of a running store whose results a power failure may undo.
///
/// Every call blocks, and runs on one of the store's queues.
package protocol StoreDisk: Sendable {
    /// Creates a new file and waits until its directory entry is on disk.
    func create(_ path: String) throws(SystemError) -> File
    /// Appends `bytes`; after an error, any part of them may be in the file.
    func append(_ bytes: [UInt8], to file: File) throws(SystemError)
    /// Writes `bytes` at `offset` of a created file; after an error, any part of them may be in the file.
    func write(_ bytes: [UInt8], to file: File, at offset: Int) throws(SystemError)
    /// Fills a range of a created file with line feeds, and waits until they are on disk.
    func fill(_ file: File, _ range: Range<Int>) throws(SystemError)
    /// Waits until all written data is on disk.
    func synchronize(_ file: File) throws(SystemError)
    /// Opens a file for appending, created if absent; does not wait until its directory entry is on disk.
    func open(_ path: String) throws(SystemError) -> File
    /// Opens an existing file, to sync it.
    func openExisting(_ path: String) throws(SystemError) -> File
    /// Reads a whole file.
    func read(_ path: String) throws(SystemError) -> [UInt8]
    /// Truncates a file.
    func truncate(_ file: File, to sizeBytes: Int) throws(SystemError)
    /// Removes a file's directory entry.
    func remove(_ path: String) throws(SystemError)
    /// Creates a directory and its missing parents.
    func makeDirectory(_ path: String) throws(SystemError)
    /// Waits until the entries of a directory are on disk.
    func synchronizeDirectory(_ path: String) throws(SystemError)
    /// Waits until the whole file system that contains `path` is on disk.
    func synchronizeFileSystem(of path: String) throws(SystemError)
}

extension StoreDisk {
    /// Opens with `open`.
    package func open(_ path: String) throws(SystemError) -> File { try File(path, for: .appending) }

    /// Opens with `open`.
    package func openExisting(_ path: String) throws(SystemError) -> File { try File(path, for: .reading) }

    /// Reads with `pread`.
    package func read(_ path: String) throws(SystemError) -> [UInt8] {
        try File(path, for: .reading).readAll()
    }

    /// Writes with `pwrite`.
    package func write(_ bytes: [UInt8], to file: File, at offset: Int) throws(SystemError) {
        try file.write(bytes, at: offset)
    }

    /// Fills with `pwrite` and waits with `fdatasync`.
    package func fill(_ file: File, _ range: Range<Int>) throws(SystemError) {
        try file.write(Array(repeating: UInt8(ascii: "\n"), count: range.count), at: range.lowerBound)
        try file.synchronizeData()
    }

    /// Truncates with `ftruncate`.
    package func truncate(_ file: File, to sizeBytes: Int) throws(SystemError) {
        try file.truncate(to: sizeBytes)
    }

    /// Removes with `unlink`.
    package func remove(_ path: String) throws(SystemError) { try Directory.remove(path) }

    /// Creates with `mkdir`.
    package func makeDirectory(_ path: String) throws(SystemError) { try Directory.make(path) }

    /// Syncs the directory with `fsync`, and returns when its entries are on disk.
    package func synchronizeDirectory(_ path: String) throws(SystemError) {
        try Directory.synchronize(path)
    }

    /// Syncs the whole file system with `syncfs`, and returns when its data is on disk.
    package func synchronizeFileSystem(of path: String) throws(SystemError) {
        try Directory.synchronizeFileSystem(of: path)
    }
}

/// The disk of the operating system.
package struct SystemDisk: StoreDisk {
    /// Creates the system's disk.
    package init() {}

    /// Creates the file and syncs its directory.
    package func create(_ path: String) throws(SystemError) -> File {
        let file = try File(path, for: .creating)
        try Directory.synchronize(Directory.parent(of: path))
        return file
    }

    /// Appends with `write`.
    package func append(_ bytes: [UInt8], to file: File) throws(SystemError) { try file.append(bytes) }

    /// Waits with `fdatasync`.
    package func synchronize(_ file: File) throws(SystemError) { try file.synchronizeData() }
}
