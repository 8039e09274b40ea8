package import BalloonPOSIX

/// A file with a message that is too long for a protocol line; it exists until the event is answered.
package struct ScratchFile {
    /// The file's path.
    package let path: String

    /// Writes `bytes` to a file that only this user can read.
    package static func write(_ bytes: ArraySlice<UInt8>, in directory: String, name: String)
        throws(SystemError)
        -> ScratchFile
    {
        let path = "\(directory)/\(name).json"
        try Directory.make(directory)
        try AtomicFile.write(Array(bytes), to: path)
        return ScratchFile(path: path)
    }

    /// Removes the file.
    package func remove() {
        // An error is ignored: the folder is private, and the next attempt overwrites the file.
        try? Directory.remove(path)
    }
}
