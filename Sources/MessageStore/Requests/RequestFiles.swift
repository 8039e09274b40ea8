import BalloonPOSIX
import BusinessMessages

/// The files of open requests; a change is durable once the folders that it returns are synced.
///
/// They can be read while a server runs and without one.
package struct RequestFiles: Sendable {
    let directory: String

    init(directory: String) { self.directory = directory }

    /// The files of this data directory.
    package init(dataDirectory: String) { directory = DataDirectory(path: dataDirectory).requests }

    /// Returns all requests, oldest first, and the number of damaged files.
    ///
    /// Throws when the folder cannot be read.
    package func all() throws(StoreError) -> (requests: [OpenRequest], unreadable: Int) {
        var found: [OpenRequest] = []
        var unreadable = 0
        for name in try names().requests {
            do throws(StoreError) {
                // The result is nil when the request ended after the names were listed.
                if let request = try read(name) { found.append(request) }
            } catch {
                guard case .damaged = error else { throw error }
                unreadable += 1
            }
        }
        return (found.sorted { ($0.begunAt, $0.entry) < ($1.begunAt, $1.entry) }, unreadable)
    }

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
