import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import MessageServer

/// The client of a running server's control socket.
struct ControlSocket {
    private let path: String

    /// The time limit of a handler's restart: ten minutes for its charging calls, and its whole grace period.
    static let restartTimeout = Duration.seconds(660)

    /// Uses the control socket of the server with the data directory `data`.
    ///
    /// Throws when the directory does not exist, or when its path is too long for a socket.
    init(data: String) throws(CommandFailure) {
        guard Directory.isDirectory(data) else { throw .noDataDirectory(path: terminalText(data)) }
        path = data + "/" + ControlRoutes.socketName
        guard SocketAddress("unix:" + path) != nil else { throw .socketPathTooLong(terminalText(path)) }
    }

    /// Whether the data directory has a control socket; throws when this process may not look into the directory.
    ///
    /// A directory that cannot be read may belong to a running server, so it does not count as one without a
    /// socket.
    static func exists(in data: String) throws(CommandFailure) -> Bool {
        do throws(SystemError) {
            return try Directory.holds(data + "/" + ControlRoutes.socketName)
        } catch {
            throw .unreadable(path: terminalText(data), error)
        }
    }

    /// Performs an operation of the running server, and returns the answer as the server wrote it; throws when no server listens.
    func ask<Request, Result>(
        _ operation: ControlOperation<Request, Result>, _ request: Request, timeout: Duration = .seconds(60)
    ) async throws -> [UInt8] {
        let body = operation.method == .get ? [] : operation.request.json(request)
        let answer = try await Self.ask(
            path, operation.method.rawValue, operation.path, body, timeout: timeout)
        guard let answer else { throw CommandFailure.noAnswer(url: terminalText(path)) }
        return try Self.content(answer)
    }

    /// Sends a request, a POST with `body` if it is given, and returns the body of a 200; nil when no server listens.
    ///
    /// After nil, the caller may change the data directory itself.
    static func request(
        _ target: String, posting body: [UInt8]? = nil, data: String, timeout: Duration = .seconds(60)
    ) async throws -> [UInt8]? {
        guard try exists(in: data) else { return nil }
        let path = data + "/" + ControlRoutes.socketName
        let method = body == nil ? "GET" : "POST"
        return try await ask(path, method, target, body ?? [], timeout: timeout).map(content)
    }

    /// Performs an operation as a job of the server, and waits without a limit for its end; nil when no server listens.
    ///
    /// After nil, the caller may change the data directory itself. When `command` is given, first prints how
    /// this command can later resume the wait for the job.
    static func run<Request, Result>(
        _ operation: ControlOperation<Request, Result>, _ request: Request, data: String,
        resumedBy command: String? = nil
    ) async throws -> Result? {
        guard try exists(in: data) else { return nil }
        let path = data + "/" + ControlRoutes.socketName
        let job = ControlRoutes.newJob()
        if let command {
            // Printed before the request, so that the user has the job's id even when the command is interrupted.
            StandardStream.error.write(
                "job \(job): if this command is interrupted, wait for the job with: \(command) --resume \(job)\n"
            )
        }
        let answer: TransportResponse
        do throws(TransportError) {
            let body = operation.body(request, job: job)
            guard let first = try await ask(path, "POST", operation.path, body) else { return nil }
            answer = first
        } catch {
            throw CommandFailure.jobUnanswered(job)
        }
        let done =
            answer.status == 202 ? try await ControlSocket(data: data).wait(for: job) : try content(answer)
        return try StoreChange.result(done, operation.answer)
    }

    /// Waits for the end of a job without a limit, and returns its result.
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
            // An answer that is not JSON has no member error and is printed unchanged.
            (try? JSONDocument(response.body))?.root["error"]?.string
            ?? String(decoding: response.body, as: UTF8.self)
        let line = reason.hasSuffix("\n") ? String(reason.dropLast()) : reason
        throw CommandFailure.refused(status: response.status, answer: terminalText(line))
    }

    /// Sends a request and returns the answer of any status; nil when no server listens.
    private static func ask(
        _ path: String, _ method: String, _ target: String, _ body: [UInt8] = [],
        timeout: Duration = .seconds(60)
    ) async throws(TransportError) -> TransportResponse? {
        var request = TransportRequest(
            method: method, url: "http://localhost" + target, body: body, timeout: timeout,
            // The result of a change has a member for each of hundreds of thousands of messages.
            maximumResponseBytes: 64 << 20, allowsPlainHTTP: true)
        request.unixSocket = path
        // The audit log of the server names the user of the connection: the one who started the command.
        do { try FileOwner.actAsRealUser() } catch { throw .connectionFailed }
        do throws(TransportError) {
            return try await CurlTransport().send(request)
        } catch .connectionFailed {
            // A killed server leaves its socket file behind, but nothing listens on it.
            return nil
        }
    }
}
