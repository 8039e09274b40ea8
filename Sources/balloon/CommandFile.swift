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

    /// Passes the content of an open file to `write` in pieces.
    ///
    /// A read error names `name`, and a write error names `target`.
    static func copy(
        _ source: File, named name: String, to target: String,
        _ write: ([UInt8]) throws(SystemError) -> Void
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
