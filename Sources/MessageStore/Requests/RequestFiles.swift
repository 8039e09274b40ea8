import BalloonPOSIX
import BusinessMessages

/// The files of open requests; a change is durable once the folders that it returns are synced.
struct RequestFiles: Sendable {
    let directory: String

    /// Returns the names of all requests, and the paths of other files; reads no file.
    ///
    /// Both are empty when the folder does not exist.
    func names() throws(StoreError) -> (requests: [RequestName], others: [String]) {
        var (requests, others): ([RequestName], [String]) = ([], [])
        do throws(SystemError) {
            guard try Directory.holds(directory) else { return ([], []) }
            for folder in try Directory.names(in: directory) {
                guard Directory.isDirectory(directory + "/" + folder) else {
                    others.append(folder)
                    continue
                }
                for file in try Directory.names(in: directory + "/" + folder) {
                    let path = folder + "/" + file
                    if file.hasSuffix(".json"), let name = RequestName(file.dropLast(5)), name.path == path {
                        requests.append(name)
                    } else {
                        others.append(path)
                    }
                }
            }
        } catch {
            throw .unavailable(path: directory, error)
        }
        return (requests, others)
    }

    /// Reads a request; nil when it has no file.
    func read(_ name: RequestName) throws(StoreError) -> OpenRequest? {
        let path = directory + "/" + name.path
        guard let bytes = try DataFiles().read(path) else { return nil }
        guard let request = OpenRequestText.request(in: bytes) else { throw .damaged(file: path, line: 1) }
        return request
    }

    /// Writes the file, or removes it when `request` is nil; returns the folders that the caller must sync.
    func write(_ request: OpenRequest?, as name: RequestName) throws(SystemError) -> [String] {
        let folder = directory + "/" + name.folder
        let path = directory + "/" + name.path
        guard let request else {
            do throws(SystemError) { try Directory.remove(path) } catch {
                guard error.isMissing else { throw error }
                return []
            }
            return [folder]
        }
        let isNew = try Directory.make(folder)
        try AtomicFile.Replacement(of: path, with: OpenRequestText.bytes(of: request)).install()
        return isNew ? [folder, directory] : [folder]
    }
}
