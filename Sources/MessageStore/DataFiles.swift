import BalloonPOSIX

/// Reads and changes files of a data directory; each change is durable when its function returns.
struct DataFiles: Sendable {
    /// Called with the path before each change; an error that it throws stops the change.
    var willChange: @Sendable (String) throws(SystemError) -> Void = { _ in }

    /// Called with the duration of each part of the work; in a running server, it then waits as long again.
    var rest: @Sendable (Duration) -> Void = { _ in }
    /// The number of bytes that are written and synced at once, so that no other sync waits for long.
    private static let pieceBytes = 1 << 20

    /// Runs `body`, and then calls `rest` with the time that it took.
    func resting<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        let began = ContinuousClock.now
        let result = try body()
        rest(.now - began)
        return result
    }

    /// The content of a file; nil when it does not exist.
    func read(_ path: String) throws(StoreError) -> [UInt8]? {
        do throws(SystemError) { return try File(path, for: .reading).readAll() } catch {
            if error.isMissing { return nil }
            throw .unavailable(path: path, error)
        }
    }

    /// Whether anything exists at the path; throws when that cannot be determined.
    func holds(_ path: String) throws(StoreError) -> Bool {
        try StoreError.naming(path) { () throws(SystemError) in try Directory.holds(path) }
    }

    /// The names in a folder; empty when it does not exist or is a file.
    func names(in path: String) throws(StoreError) -> [String] {
        try StoreError.naming(path) { () throws(SystemError) in
            try Directory.holds(path) && Directory.isDirectory(path) ? Directory.names(in: path) : []
        }
    }

    /// The names of the folders in a folder; empty when it does not exist.
    func folders(in path: String) throws(StoreError) -> [String] {
        try names(in: path).filter { Directory.isDirectory(path + "/" + $0) }
    }

    /// The folders in which a folder of all businesses has the files of conversations: `<business>/<2 hex>`.
    func conversationFolders(in directory: String) throws(StoreError) -> [String] {
        var folders: [String] = []
        for business in try names(in: directory) {
            // Other programs may have put files between the folders; a file has no names.
            for folder in try names(in: directory + "/" + business) {
                folders.append(business + "/" + folder)
            }
        }
        return folders
    }

    /// The paths of the files of conversations, relative to a folder of all businesses.
    func conversationPaths(in directory: String) throws(StoreError) -> [String] {
        var paths: [String] = []
        for folder in try conversationFolders(in: directory) {
            for name in try names(in: directory + "/" + folder) where name.hasSuffix(".jsonl") {
                paths.append(folder + "/" + name)
            }
        }
        return paths
    }

    /// Replaces the content of a file.
    func replace(_ path: String, with bytes: [UInt8]) throws(StoreError) {
        try change(path) { () throws(SystemError) in try AtomicFile.write(bytes, to: path) }
    }

    /// Replaces the content of a large file, in pieces.
    func replaceInPieces(_ path: String, with bytes: [UInt8]) throws(StoreError) {
        let temporary = path + ".new"
        try change(path) { () throws(SystemError) in
            // Remove the rest of an interrupted replacement; the error is ignored, because usually there is
            // none.
            try? Directory.remove(temporary)
            let file = try File(temporary, for: .creating)
            for start in stride(from: 0, to: bytes.count, by: Self.pieceBytes) {
                let began = ContinuousClock.now
                try file.append(Array(bytes[start..<min(start + Self.pieceBytes, bytes.count)]))
                try file.synchronizeData()
                rest(.now - began)
            }
            try file.synchronize()
            try Directory.rename(temporary, to: path)
            try Directory.synchronize(Directory.parent(of: path))
        }
    }

    /// Removes the files of a folder that satisfy `isWanted`, and syncs the folder.
    func remove(
        in folder: String, where isWanted: (String) throws(StoreError) -> Bool
    ) throws(StoreError) {
        var isChanged = false
        for name in try names(in: folder) {
            guard try isWanted(name) else { continue }
            let path = folder + "/" + name
            try change(path) { () throws(SystemError) in
                do throws(SystemError) { try Directory.remove(path) } catch {
                    if !error.isMissing { throw error }
                }
            }
            isChanged = true
        }
        guard isChanged else { return }
        try change(folder) { () throws(SystemError) in try Directory.synchronize(folder) }
    }

    private func change(_ path: String, _ body: () throws(SystemError) -> Void) throws(StoreError) {
        try StoreError.naming(path) { () throws(SystemError) in
            try willChange(path)
            try body()
        }
    }
}
