package import BalloonPOSIX

/// A file that holds a long message until its event is answered.
package struct ScratchFile {
    /// Where it is.
    package let path: String

    /// Writes `bytes`, readable by this user alone.
    package static func write(_ bytes: ArraySlice<UInt8>, in directory: String, name: String)
        throws(SystemError)
        -> ScratchFile
    {
        let path = "\(directory)/\(name).json"
        try Directory.make(directory)
        try AtomicFile.write(Array(bytes), to: path)
        return ScratchFile(path: path)
    }

    /// Removes it.
    package func remove() {
        // It is in a folder that nobody else reads; a rest of it is overwritten by the next attempt.
        try? Directory.remove(path)
    }
}
