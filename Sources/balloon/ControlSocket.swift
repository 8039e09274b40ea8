import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import MessageServer

/// The socket by which a server that owns a data directory is asked.
struct ControlSocket {
    private let path: String

    /// The socket of the server that runs in `data`; throws when there is no such directory, or its path is too long.
    init(data: String) throws(CommandFailure) {
        guard Directory.isDirectory(data) else { throw .noDataDirectory(path: terminalText(data)) }
        path = data + "/" + ControlRoutes.socketName
        guard SocketAddress("unix:" + path) != nil else { throw .socketPathTooLong(terminalText(path)) }
    }

    /// Asks, and returns the answer of a 200; throws when no server listens, or it answers with something else.
    func ask(_ method: String, _ target: String, _ body: [UInt8] = []) async throws -> [UInt8] {
        // A handler that is restarted is given its time to end.
        guard let answer = try await Self.ask(path, method, target, body, timeout: .seconds(60)) else {
            throw CommandFailure.noAnswer(url: terminalText(path))
        }
        return answer
    }

    /// Posts `body` and returns the answer of a 200; nil when no server listens, so that the caller does it itself.
    static func post(
        _ target: String, _ body: [UInt8], data: String, timeout: Duration
    ) async throws -> [UInt8]? {
        let path = data + "/" + ControlRoutes.socketName
        guard Directory.exists(path) else { return nil }
        return try await ask(path, "POST", target, body, timeout: timeout)
    }

    private static func ask(
        _ path: String, _ method: String, _ target: String, _ body: [UInt8], timeout: Duration
    ) async throws -> [UInt8]? {
        var request = TransportRequest(
            method: method, url: "http://localhost" + target, body: body, timeout: timeout,
            allowsPlainHTTP: true)
        request.unixSocket = path
        let response: TransportResponse
        do throws(TransportError) {
            response = try await CurlTransport().send(request)
        } catch .connectionFailed {
            // What a server that was killed left behind.
            return nil
        }
        if response.status == 200 { return response.body }
        let reason =
            (try? JSONDocument(response.body))?.root["error"]?.string
            ?? String(decoding: response.body, as: UTF8.self)
        let line = reason.hasSuffix("\n") ? String(reason.dropLast()) : reason
        throw CommandFailure.refused(status: response.status, answer: terminalText(line))
    }
}
