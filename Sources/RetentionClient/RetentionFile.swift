import BalloonJSON
import BalloonPOSIX

/// A JSON file with `"format": 1` about an app in the data directory.
enum RetentionFile {
    /// Reads a file; nil when it does not exist.
    ///
    /// Throws when it cannot be read or has another format.
    static func read(_ path: String, maximumBytes: Int) throws(RetentionFileError) -> JSONDocument? {
        guard Directory.exists(path) else { return nil }
        let bytes: [UInt8]
        do { bytes = try File(path, for: .reading).readAll(maximumBytes: maximumBytes) } catch {
            throw .unreadable(path, "\(error)")
        }
        guard let document = try? JSONDocument(bytes), document.root["format"]?.int == 1 else {
            throw .malformed(path)
        }
        return document
    }

    /// Replaces the file durably by one with these members, and creates its folder if that is missing.
    static func write(
        to path: String, _ members: (inout JSONWriter) -> Void
    ) throws(RetentionFileError) {
        let json = JSONWriter.object { writer in
            writer.field("format", 1)
            members(&writer)
        }
        do {
            try Directory.make(Directory.parent(of: path))
            try AtomicFile.write(json + Array("\n".utf8), to: path)
        } catch {
            throw .unwritable(path, "\(error)")
        }
    }
}
