import ArgumentParser
import BalloonPOSIX
import BalloonTransport
import MessageServer

/// `balloon healthcheck`: asks the server on this machine whether it is alive.
struct HealthCheck: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "healthcheck",
        abstract: "Check whether a server is alive; exits with 0 or 1.",
        discussion:
            """
            Without --listen and --url it uses the control socket in the server's data directory, independent of the address \
            that the server listens on; without a socket it uses BALLOON_LISTEN, else port 8080. When it may not look into \
            the data directory it fails, because another server may listen there. With --verbose it uses the control \
            socket only, and prints the state of every check of /readyz.
            """)

    @Option(help: .value("host:port", "The server's listening address."))
    var listen: SocketAddress?

    @Option(help: .value("url", "The server's base URL, instead of --listen."))
    var url: String?

    @Option(
        help: .value("dir", "The server's data directory; the default is BALLOON_DATA_DIRECTORY, else data."))
    var data: String?

    @Flag(help: "Check whether the server is ready, and print every check with its state and reason.")
    var verbose = false

    func validate() throws {
        try require(listen == nil || url == nil, "--listen and --url exclude each other.")
        if verbose, listen != nil || url != nil {
            throw ValidationError("--verbose uses the control socket; omit --listen and --url.")
        }
        if let listen, listen.localURL == nil { throw ValidationError("A health check needs a TCP address.") }
    }

    func run() async throws {
        let environment = ProcessEnvironment.variables()
        let directory = data ?? environment["BALLOON_DATA_DIRECTORY"] ?? "data"
        let socket = directory + "/" + ControlRoutes.socketName
        let place = verbose ? Place(socket: socket) : try place(in: environment, directory, socket)
        let answer: TransportResponse
        do throws(TransportError) {
            answer = try await ask(place, socket)
        } catch {
            // Exit with 1 instead of 69, because for a health check an unreachable server is an unhealthy one.
            StandardStream.error.write("error: \(place) does not answer: \(error.reason)\n")
            throw ExitCode(CommandStatus.failed.rawValue)
        }
        if verbose {
            for line in String(decoding: answer.body, as: UTF8.self).split(separator: "\n") {
                StandardStream.output.write(terminalText(String(line)) + "\n")
            }
            if answer.status == 200 { return }
            throw ExitCode(CommandStatus.failed.rawValue)
        }
        guard answer.status == 200 else {
            throw CommandFailure.refused(status: answer.status, answer: "\(place)")
        }
        StandardStream.output.write("ok\n")
    }

    /// Asks the server for `/livez`, or for `/readyz` with `--verbose`.
    private func ask(_ place: Place, _ socket: String) async throws(TransportError) -> TransportResponse {
        let transport = try CurlTransport()
        let path = verbose ? "/readyz?verbose" : "/livez"
        do {
            return try await transport.send(place.request(path))
        } catch {
            // The server accepted the connection but did not answer plain HTTP, probably because the listener uses
            // TLS: ask the control socket instead.
            guard error.isAboutTheAnswer, listen != nil, Directory.exists(socket) else { throw error }
            return try await transport.send(Place(socket: socket).request(path))
        }
    }

    /// Returns the place to ask: the given address, the control socket, the address in the environment, or
    /// the default.
    ///
    /// The first of these that exists is used. The control socket exists while the server runs, and remains
    /// after a server is killed.
    private func place(
        in environment: [String: String], _ directory: String, _ socket: String
    ) throws -> Place {
        if let base = url ?? listen?.localURL { return Place(base: base) }
        do throws(CommandFailure) {
            if try ControlSocket.exists(in: directory) { return Place(socket: socket) }
        } catch {
            // Exit with 1: the server may be running, and another one may listen on the default address.
            StandardStream.error.write(FailureReport(error)?.text ?? "")
            throw ExitCode(CommandStatus.failed.rawValue)
        }
        guard let text = environment[Self.variable] else { return Place(base: "http://127.0.0.1:8080") }
        let address = SocketAddress(text)
        if case .unix(let path)? = address { return Place(socket: path) }
        guard let base = address?.localURL else {
            throw CommandFailure.badVariable(
                name: Self.variable,
                hint: "use HOST:PORT or unix:PATH, or name the server's address with --url")
        }
        return Place(base: base)
    }

    private static let variable = "BALLOON_LISTEN"
}

/// The server that a health check asks.
private struct Place: CustomStringConvertible {
    /// The base URL.
    var base = "http://localhost"
    /// The unix socket on which the server speaks plain HTTP; nil for TCP.
    var socket: String?

    var description: String { terminalText(socket ?? base) }

    func request(_ path: String) -> TransportRequest {
        var request = TransportRequest(
            url: base + path, timeout: .seconds(2), connectTimeout: .seconds(2), allowsPlainHTTP: true)
        request.unixSocket = socket
        return request
    }
}

extension TransportError {
    /// Whether a connection was made, but the answer was not HTTP.
    fileprivate var isAboutTheAnswer: Bool {
        switch self {
        case .interrupted, .failed: true
        case .requestInvalid, .schemeRefused, .hostUnresolved, .connectionFailed, .addressRefused,
            .contentFailed, .tlsFailed, .certificateRefused, .timedOut, .responseTooLarge, .cancelled:
            false
        }
    }
}
