import BalloonPOSIX
import BusinessMessages

/// The open requests of a data directory for a command that only reads, beside a running server or without one.
package struct OpenRequestList: Sendable {
    private let files: RequestFiles

    /// Reads the requests of this data directory.
    package init(dataDirectory: String) { files = RequestFiles(directory: dataDirectory + "/requests") }

    /// All requests, oldest first; `unreadable` counts damaged files.
    ///
    /// Throws when the folder cannot be read.
    package func requests() throws(StoreError) -> (requests: [OpenRequest], unreadable: Int) {
        var found: [OpenRequest] = []
        var unreadable = 0
        for name in try files.names().requests {
            do throws(StoreError) {
                // A request that ended since the listing has no file any more.
                if let request = try files.read(name) { found.append(request) }
            } catch {
                guard case .damaged = error else { throw error }
                unreadable += 1
            }
        }
        return (found.sorted { ($0.begunAt, $0.entry) < ($1.begunAt, $1.entry) }, unreadable)
    }
}
