import BalloonPOSIX
import BalloonTransport
import MessageServer

/// The socket by which a server that owns a data directory is asked.
struct ControlSocket {
    private let path: String

    /// The socket of the server that runs in `data`; throws when there is no such directory.
    init(data: String) throws(CommandFailure) {
        guard Directory.isDirectory(data) else { throw .noDataDirectory(path: terminalText(data)) }
        path = data + "/" + ControlRoutes.socketName
    }

    /// Asks, and returns the answer of a 200; throws when no server listens, or it answers with something else.
    func ask(_ method: String, _ target: String, _ body: [UInt8] = []) async throws -> [UInt8] {
        var request = TransportRequest(
            method: method, url: "http://localhost" + target, body: body, allowsPlainHTTP: true)
        request.unixSocket = path
        // A handler that is restarted is given its time to end.
        request.timeout = .seconds(60)
        let response: TransportResponse
        do throws(TransportError) {
            response = try await CurlTransport().send(request)
        } catch .connectionFailed {
            throw CommandFailure.noAnswer(url: terminalText(path))
        }
        guard response.status == 200 else {
            let answer = String(decoding: response.body, as: UTF8.self)
            throw CommandFailure.refused(status: response.status, answer: terminalText(answer))
        }
        return response.body
    }
}
