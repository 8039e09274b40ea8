import BalloonJSON
import BalloonPOSIX

/// Files that are given to commands by name.
enum CommandFile {
    /// The maximum size of a file: more than the 10 MiB of a message and the 32 MiB of its downloaded payload.
    private static let maximumBytes = 64 << 20

    /// Reads the file, or standard input for the path `-`; throws when it is unreadable or larger than 64 MiB.
    static func bytes(_ path: String) throws(CommandFailure) -> [UInt8] {
        do {
            // Use the open descriptor instead of /dev/stdin. A parent such as Node passes a socket as
            // standard input, and a socket cannot be opened by a path.
            let file =
                if path == "-" {
                    Descriptor(owning: 0)
                } else {
                    try FileOwner.asRealUser { () throws(SystemError) in try Descriptor.open(reading: path) }
                }
            return try file.readToEnd(maximumBytes: maximumBytes)
        } catch {
            throw .unreadable(path: path, error)
        }
    }

    /// Throws when the path is not a readable regular file.
    ///
    /// Commands check a path before they use it, because the error of a later read would not name it.
    static func check(_ path: String) throws(CommandFailure) {
        do throws(SystemError) {
            try FileOwner.asRealUser { () throws(SystemError) in
                _ = try File(path, for: .readingGiven).read(at: 0, count: 1)
            }
        } catch {
            throw .unreadable(path: path, error)
        }
    }

    /// Opens a file of the data directory; the error names `name`.
    static func open(_ path: String, named name: String) throws(CommandFailure) -> File {
        do { return try File(path, for: .reading) } catch { throw .unreadable(path: name, error) }
    }

    /// Creates a file that does not exist yet.
    static func create(_ path: String) throws(CommandFailure) -> File {
        try write(to: path) { path throws(SystemError) in try File(path, for: .creating) }
    }

    /// Returns the result of `body`, which runs with the rights of the user who started this process.
    @discardableResult static func write<Result>(
        to path: String, _ body: (String) throws(SystemError) -> Result
    ) throws(CommandFailure) -> Result {
        do {
            return try FileOwner.asRealUser { () throws(SystemError) in try body(path) }
        } catch {
            throw .unwritten(to: terminalText(path), error)
        }
    }

    /// Replaces a file by one with this text.
    static func write(_ text: String, to path: String) throws(CommandFailure) {
        try write(to: path) { path throws(SystemError) in try AtomicFile.write(Array(text.utf8), to: path) }
    }

    /// Writes to standard output; throws when it, or an earlier write, failed.
    static func writeToOutput(_ bytes: [UInt8]) throws(SystemError) {
        StandardStream.output.write(bytes)
        if let failure = StandardStream.output.failure { throw failure }
    }

    /// Passes the content of an open file to `write` in pieces.
    ///
    /// A read error names `name`, and a write error names `target`.
    static func copy(
        _ source: File, named name: String, to target: String, _ write: ([UInt8]) throws(SystemError) -> Void
    ) throws(CommandFailure) {
        var position = 0
        while true {
            let piece: [UInt8]
            do { piece = try source.read(at: position, count: 1 << 18) } catch {
                throw .unreadable(path: name, error)
            }
            if piece.isEmpty { return }
            position += piece.count
            do { try write(piece) } catch { throw .unwritten(to: terminalText(target), error) }
        }
    }

    /// Reads and parses the file, or standard input for the path `-`; the error for invalid JSON has line and column.
    static func json(_ path: String) throws(CommandFailure) -> JSONDocument {
        let bytes = try bytes(path)
        do {
            return try JSONDocument(bytes)
        } catch {
            let (line, column) = error.position(in: bytes)
            throw .malformed(path: "\(path):\(line):\(column)", reason: "is not JSON: \(error.reason)")
        }
    }
}
