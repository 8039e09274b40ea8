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
        guard let answer = try await Self.ask(path, method, target, body) else {
            throw CommandFailure.noAnswer(url: terminalText(path))
        }
        return try Self.content(answer)
    }

    /// Posts `body` and returns the answer of a 200; nil when no server listens, so that the caller does it itself.
    static func post(
        _ target: String, _ body: [UInt8], data: String, timeout: Duration
    ) async throws -> [UInt8]? {
        let path = data + "/" + ControlRoutes.socketName
        guard Directory.exists(path) else { return nil }
        return try await ask(path, "POST", target, body, timeout: timeout).map(content)
    }

    /// Asks, and returns the answer of a 200; nil when no server listens.
    static func get(_ target: String, data: String) async throws -> [UInt8]? {
        let path = data + "/" + ControlRoutes.socketName
        guard Directory.exists(path) else { return nil }
        return try await ask(path, "GET", target).map(content)
    }

    /// Begins a job and waits for its end, however long that takes; nil when no server listens, so that the caller does it
    /// itself.
    ///
    /// Says first which command waits for the job, for one that takes long.
    static func run(
        _ job: String, _ target: String, _ body: [UInt8], data: String, resumedBy command: String?
    ) async throws -> [UInt8]? {
        let path = data + "/" + ControlRoutes.socketName
        guard Directory.exists(path) else { return nil }
        let answer: TransportResponse
        do throws(TransportError) {
            guard let first = try await ask(path, "POST", target, body) else { return nil }
            answer = first
        } catch {
            throw CommandFailure.jobUnanswered(job)
        }
        guard answer.status == 202 else { return try content(answer) }
        if let command {
            StandardStream.error.write("job \(job) runs; \(command) --resume \(job) waits for it\n")
        }
        return try await ControlSocket(data: data).wait(for: job)
    }

    /// Waits for the end of a job, however long that takes.
    func wait(for job: String) async throws -> [UInt8] {
        while true {
            let answer: TransportResponse?
            do throws(TransportError) { answer = try await Self.ask(path, "GET", "/jobs/" + job) } catch {
                throw CommandFailure.jobUnanswered(job)
            }
            guard let answer else { throw CommandFailure.noAnswer(url: terminalText(path)) }
            if answer.status == 404 { throw CommandFailure.unknownJob(job) }
            if answer.status != 202 { return try Self.content(answer) }
        }
    }

    private static func content(_ response: TransportResponse) throws(CommandFailure) -> [UInt8] {
        if response.status == 200 { return response.body }
        let reason =
            // An answer that is no JSON is shown as it is.
            (try? JSONDocument(response.body))?.root["error"]?.string
            ?? String(decoding: response.body, as: UTF8.self)
        let line = reason.hasSuffix("\n") ? String(reason.dropLast()) : reason
        throw CommandFailure.refused(status: response.status, answer: terminalText(line))
    }

    /// Nil when no server listens.
    private static func ask(
        _ path: String, _ method: String, _ target: String, _ body: [UInt8] = [],
        timeout: Duration = .seconds(60)
    ) async throws(TransportError) -> TransportResponse? {
        var request = TransportRequest(
            method: method, url: "http://localhost" + target, body: body, timeout: timeout,
            allowsPlainHTTP: true)
        request.unixSocket = path
        do throws(TransportError) {
            return try await CurlTransport().send(request)
        } catch .connectionFailed {
            // What a server that was killed left behind.
            return nil
        }
    }
}
