import BalloonPOSIX
import BusinessMessages

/// Read-only access to the open requests of a data directory; works while a server runs and without one.
package struct OpenRequestList: Sendable {
    private let files: RequestFiles

    /// Reads the requests of this data directory.
    package init(dataDirectory: String) {
        files = RequestFiles(directory: DataDirectory(path: dataDirectory).requests)
    }

    /// Returns all requests, oldest first, and the number of damaged files.
    ///
    /// Throws when the folder cannot be read.
    package func requests() throws(StoreError) -> (requests: [OpenRequest], unreadable: Int) {
        var found: [OpenRequest] = []
        var unreadable = 0
        for name in try files.names().requests {
            do throws(StoreError) {
                // The result is nil when the request ended after the names were listed.
                if let request = try files.read(name) { found.append(request) }
            } catch {
                guard case .damaged = error else { throw error }
                unreadable += 1
            }
        }
        return (found.sorted { ($0.begunAt, $0.entry) < ($1.begunAt, $1.entry) }, unreadable)
    }
}
