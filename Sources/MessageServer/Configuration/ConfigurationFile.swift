import BalloonJSON
import BalloonPOSIX

/// Reads the files of a configuration.
enum ConfigurationFile {
    /// The size limit of a file, 1 MiB: files written by hand are much smaller.
    private static let maximumBytes = 1 << 20

    /// The folder of `path`, with a trailing slash; empty when `path` has no slash.
    static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
        return String(path[...slash])
    }

    /// The names of the JSON files in a folder, sorted; nil after reporting a problem.
    static func names(
        in folder: String, hint: String, noting problems: inout [ConfigurationProblem]
    ) -> [String]? {
        do {
            // Hidden files are skipped: editors and Kubernetes volumes create them.
            return try Directory.names(in: folder).filter { $0.hasSuffix(".json") && !$0.hasPrefix(".") }
        } catch {
            problems.add(at: .file(folder), "cannot be read: \(error)", hint: hint)
            return nil
        }
    }

    /// The JSON in the file; nil after reporting a problem.
    static func document(_ path: String, noting problems: inout [ConfigurationProblem]) -> JSONDocument? {
        let bytes: [UInt8]
        do {
            // Only a regular file: opening a named pipe would block, and with it this reload and all later ones.
            bytes = try File(path, for: .readingGiven).readAll(maximumBytes: maximumBytes)
        } catch {
            problems.add(at: .file(path), "cannot be read: \(error)", hint: "check its path and mode")
            return nil
        }
        do {
            return try JSONDocument(bytes)
        } catch {
            let (line, column) = error.position(in: bytes)
            let place = ConfigurationPlace.value(file: path, line: line, column: column, pointer: "")
            problems.add(at: place, "is not JSON: \(error.reason)", hint: "correct the text here")
            return nil
        }
    }

    /// Returns the file's text without its final line break; throws when the file cannot be read.
    static func text(_ path: String) throws(InvalidSetting) -> String {
        var bytes: [UInt8]
        do {
            bytes = try Descriptor.open(reading: path).readToEnd(maximumBytes: maximumBytes)
        } catch {
            throw InvalidSetting(
                "names a file that cannot be read: \(error)", hint: "check its path and mode")
        }
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }
}
