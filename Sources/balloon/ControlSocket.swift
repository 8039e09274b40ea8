import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import MessageServer

/// The socket in a data directory at which the server that owns it does what commands ask.
enum ControlSocket {
    /// Posts `body` and returns a 200's content; nil when no server listens.
    ///
    /// Throws ``CommandFailure/refused(status:answer:)`` with the reason that the server gives.
    static func post(
        _ name: String, _ body: [UInt8], data: String, timeout: Duration = .seconds(30)
    ) async throws -> [UInt8]? {
        let path = data + "/" + ControlRoutes.socketName
        guard Directory.exists(path) else { return nil }
        var request = TransportRequest(
            method: "POST", url: "http://localhost/" + name, body: body, timeout: timeout,
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
        let reason = (try? JSONDocument(response.body))?.root["error"]?.string
        throw CommandFailure.refused(status: response.status, answer: terminalText(reason ?? ""))
    }
}
