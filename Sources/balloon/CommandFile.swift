import BalloonJSON
import BalloonPOSIX

/// Files that are given to commands by name.
enum CommandFile {
    /// A message has at most 10 MiB, and its payload at most 32.
    private static let maximumBytes = 64 << 20

    /// The file's bytes; `-` is standard input.
    static func bytes(_ path: String) throws(CommandFailure) -> [UInt8] {
        do {
            // Standard input may be a socket, as under Node; a socket cannot be opened by a path.
            let file = if path == "-" { Descriptor(owning: 0) } else { try Descriptor.open(reading: path) }
            return try file.readToEnd(maximumBytes: maximumBytes)
        } catch {
            throw .unreadable(path: path, error)
        }
    }

    /// Throws when the path is not a readable regular file; checked here because a later read error would not
    /// name the path.
    static func check(_ path: String) throws(CommandFailure) {
        do throws(SystemError) { _ = try File(path, for: .readingRegular).read(at: 0, count: 1) } catch {
            throw .unreadable(path: path, error)
        }
    }

    /// The JSON in the file.
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
