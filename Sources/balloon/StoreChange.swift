import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import ConversationStore
import Logging
import MessageServer

/// A change of a data directory: by the server that owns it, or on the directory itself when none does.
enum StoreChange {
    /// Hands messages over again; returns their new records.
    case replay([UInt64])
    /// Takes messages off the dead letters.
    case drop([UInt64])

    /// Makes the change; returns when it is on disk.
    func run(data: String) async throws -> [UInt64] {
        guard Directory.isDirectory(data) else {
            throw CommandFailure.noDataDirectory(path: terminalText(data))
        }
        if let answer = try await askServer(data) { return answer }
        // Takes the lock, so that no server can begin meanwhile; the next one delivers.
        let store = try ConversationStore.open(
            StoreConfiguration(directory: data), logger: Logger(label: "balloon"))
        do {
            let records = try await change(store)
            await store.close()
            return records
        } catch {
            await store.close()
            throw error
        }
    }

    private func change(_ store: ConversationStore) async throws -> [UInt64] {
        switch self {
        case .replay(let records): return try await store.replay(records)
        case .drop(let records):
            try await store.drop(records)
            return []
        }
    }

    /// Nil when no server listens.
    private func askServer(_ data: String) async throws -> [UInt64]? {
        let path = data + "/" + ControlRoutes.socketName
        guard Directory.exists(path) else { return nil }
        var request = TransportRequest(
            method: "POST", url: "http://localhost/" + name, body: body, allowsPlainHTTP: true)
        request.unixSocket = path
        let response: TransportResponse
        do throws(TransportError) {
            response = try await CurlTransport().send(request)
        } catch .connectionFailed {
            // What a server that was killed left behind.
            return nil
        }
        if response.status == 200, let records = ControlRoutes.records(in: response.body) { return records }
        let reason = (try? JSONDocument(response.body))?.root["error"]?.string
        throw CommandFailure.refused(status: response.status, answer: terminalText(reason ?? ""))
    }

    private var name: String {
        switch self {
        case .replay: "replay"
        case .drop: "drop"
        }
    }

    private var body: [UInt8] {
        switch self {
        case .replay(let records), .drop(let records): Array("{\"records\":\(records)}".utf8)
        }
    }
}
