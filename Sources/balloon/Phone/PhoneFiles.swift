import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonWire
import MessageServer
import Synchronization

/// The files that the page has chosen, until a message carries them; the newest 16 are kept.
final class PhoneFiles: Sendable {
    static let maximumBytes = 100 << 20
    private static let maximumFiles = 16

    private let directory: String
    private let names = Mutex<[String]>([])

    /// Uses a folder of the data directory, and removes the files of an earlier process.
    init(directory: String) {
        self.directory = directory + "/phone-files"
        // Nothing to remove when there is no folder; a file that cannot be removed only occupies space.
        for name in (try? Directory.names(in: self.directory)) ?? [] {
            try? Directory.remove(self.directory + "/" + name)
        }
    }

    /// Stores a body while it arrives; returns its name.
    func store(_ reader: HTTPBodyReader) async throws -> String {
        let (name, file) = try create()
        do {
            while let piece = try await reader.next() { try file.append(piece) }
        } catch {
            remove(name)
            throw InspectorProblem(.badRequest, "the file did not arrive completely, or is over 100 MB")
        }
        return name
    }

    /// Stores bytes; returns their name.
    func store(_ bytes: [UInt8]) throws -> String {
        let (name, file) = try create()
        try file.append(bytes)
        return name
    }

    /// The path of a stored file; throws a problem when there is none.
    func path(_ name: String) throws(InspectorProblem) -> String {
        guard names.withLock({ $0.contains(name) }) else {
            throw InspectorProblem(.notFound, "there is no such file; upload it again")
        }
        return directory + "/" + name
    }

    private func create() throws -> (String, File) {
        try Directory.make(directory)
        let name = Hex.encode(randomBytes(16))
        let file = try File(directory + "/" + name, for: .creating)
        let oldest = names.withLock { names in
            names.append(name)
            return names.count > Self.maximumFiles ? names.removeFirst() : nil
        }
        if let oldest { remove(oldest) }
        return (name, file)
    }

    private func remove(_ name: String) {
        names.withLock { $0.removeAll { $0 == name } }
        // A file that cannot be removed only occupies space until the next start.
        try? Directory.remove(directory + "/" + name)
    }
}
