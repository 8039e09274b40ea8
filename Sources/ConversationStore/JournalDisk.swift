package import BalloonPOSIX

/// The disk as the journal's writer uses it; every call blocks, and is made on the writer's queue only.
package protocol JournalDisk: Sendable {
    /// Makes a file that does not exist and waits until its name is on disk.
    func create(_ path: String) throws(SystemError) -> File
    /// Appends `bytes`; when it throws, any part of them may be in the file.
    func append(_ bytes: [UInt8], to file: File) throws(SystemError)
    /// Waits until what was appended is on disk.
    func synchronize(_ file: File) throws(SystemError)
}

/// The disk of the operating system.
package struct SystemDisk: JournalDisk {
    /// The one there is.
    package init() {}

    /// Makes the file and syncs its directory.
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
