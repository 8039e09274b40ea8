package import BalloonPOSIX

/// A file that holds a long message until its event is answered.
package struct ScratchFile {
    /// The file's path.
    package let path: String

    /// Writes `bytes`, readable by this user only.
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
