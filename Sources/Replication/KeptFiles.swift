import BalloonPOSIX

/// The files of a data directory that a store in PostgreSQL keeps, by their paths relative to it.
struct KeptFiles: Sendable {
    /// The directory, as an absolute path without symbolic links.
    let root: String

    /// The file that says which store the directory is a copy of; see ``ReplicaMark``.
    static let mark = "replica"
    /// The file of the messages that the owner has in hand; only its own machine has all of them.
    static let calls = "calls"

    /// The files that belong to one machine or are built anew.
    private static let own: Set<String> = [
        mark, mark + ".changes", "lock", "control.sock", "backup.lock", "conversation-index", "dev.json",
        "dev.starting.json", "phone.json",
    ]
    private static let ownFolders: Set<String> = ["handlers", "phone-files"]

    /// Whether the store keeps the file; `path` is relative.
    static func keeps(_ path: String) -> Bool {
        if path.hasSuffix(".new") || own.contains(path) { return false }
        let folders = path.split(separator: "/").dropLast()
        // A folder `incoming` has incomplete files.
        return !(folders.first.map { ownFolders.contains(String($0)) } ?? false) && folders.last != "incoming"
    }

    /// Whether a relative path stays in the directory.
    ///
    /// The system splits bytes; as characters, a slash before a combining mark is none.
    static func isInside(_ path: String) -> Bool {
        let slash = UInt8(ascii: "/")
        return path.utf8.first != slash
            && !path.utf8.split(separator: slash).contains { $0.elementsEqual("..".utf8) }
    }

    /// The path relative to the directory; nil for a path outside.
    func relative(_ path: String) -> String? {
        path.utf8.starts(with: (root + "/").utf8) ? String(path.dropFirst(root.count + 1)) : nil
    }

    /// The absolute path.
    func absolute(_ path: String) -> String { root + "/" + path }

    /// Calls `body` with each kept file's path and size.
    func forEach(_ body: (_ path: String, _ sizeBytes: Int) throws -> Void) throws {
        var folders = [""]
        while let folder = folders.popLast() {
            for name in try Directory.names(in: absolute(folder)) {
                let path = folder.isEmpty ? name : folder + "/" + name
                if Directory.isDirectory(absolute(path)) {
                    // Files behind a link are not below the directory, so they would not be kept.
                    guard ProcessPaths.resolved(absolute(path)) == absolute(path) else {
                        throw ReplicaError.unusable("\(absolute(path)) is a symbolic link; make it a folder")
                    }
                    folders.append(path)
                } else if Self.keeps(path), let size = try? File(absolute(path), for: .reading).sizeBytes() {
                    try body(path, size)
                }
            }
        }
    }
}
