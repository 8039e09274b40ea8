import BalloonJSON
package import BalloonPOSIX

/// A file with a message that is too long for a protocol line; it exists until the event is answered.
package struct ScratchFile {
    /// The file's path.
    package let path: String

    /// Writes a message to a file that only this user can read, with U+FFFD for half a surrogate pair.
    package static func write(_ message: ArraySlice<UInt8>, in directory: String, name: String)
        throws(SystemError)
        -> ScratchFile
    {
        let path = "\(directory)/\(name).json"
        try Directory.make(directory)
        var bytes = Array(message)
        replaceLoneSurrogates(in: &bytes)
        try AtomicFile.write(bytes, to: path)
        return ScratchFile(path: path)
    }

    /// Removes the file.
    package func remove() {
        // An error is ignored: the folder is private, and the next attempt overwrites the file.
        try? Directory.remove(path)
    }
}
