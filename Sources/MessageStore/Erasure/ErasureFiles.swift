import BalloonPOSIX

/// The changes that an erasure makes to files; each is durable when its function returns, or when its folder is synced.
struct ErasureFiles: Sendable {
    /// Called before each change, with its path; an error stops the erasure there.
    var willChange: @Sendable (String) throws(SystemError) -> Void = { _ in }

    /// The content of a file; nil when it does not exist.
    func read(_ path: String) throws(StoreError) -> [UInt8]? {
        do throws(SystemError) { return try File(path, for: .reading).readAll() } catch {
            if error.isMissing { return nil }
            throw .unavailable(path: path, error)
        }
    }

    /// The names in a folder; empty when it does not exist.
    func names(in path: String) throws(StoreError) -> [String] {
        do throws(SystemError) { return try Directory.holds(path) ? Directory.names(in: path) : [] } catch {
            throw .unavailable(path: path, error)
        }
    }

    /// The names of the folders in a folder; empty when it does not exist.
    func folders(in path: String) throws(StoreError) -> [String] {
        try names(in: path).filter { Directory.isDirectory(path + "/" + $0) }
    }

    /// Replaces the content of a file.
    func replace(_ path: String, with bytes: [UInt8]) throws(StoreError) {
        try change(path) { () throws(SystemError) in try AtomicFile.write(bytes, to: path) }
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
        do throws(SystemError) {
            try willChange(path)
            try body()
        } catch {
            throw .unavailable(path: path, error)
        }
    }
}
