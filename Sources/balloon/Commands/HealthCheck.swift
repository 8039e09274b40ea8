import ArgumentParser
import BalloonPOSIX
import BalloonTransport
import MessageServer

/// `balloon healthcheck`: asks the server on this machine whether it lives.
struct HealthCheck: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "healthcheck",
        abstract: "Ask a server whether it lives; exits with 0 or 1.",
        discussion:
            """
            Without --listen and --url it asks through the control socket in the server's data directory, whatever the \
            server listens on; where there is none, at BALLOON_LISTEN, else at port 8080. With --verbose it asks through the \
            control socket alone, and prints the state of everything that /readyz looks at.
            """)

    @Option(help: ArgumentHelp("Where the server listens.", valueName: "host:port"))
    var listen: SocketAddress?

    @Option(help: ArgumentHelp("The server's base address instead.", valueName: "url"))
    var url: String?

    @Option(
        help: ArgumentHelp(
            "The server's data directory; BALLOON_DATA_DIRECTORY, else data, unless said otherwise.",
            valueName: "dir"))
    var data: String?

    @Flag(help: "Ask whether it may be sent messages, and print every check with its state and reason.")
    var verbose = false

    func validate() throws {
        guard listen == nil || url == nil else {
            throw ValidationError("--listen and --url exclude each other.")
        }
        if verbose, listen != nil || url != nil {
            throw ValidationError("--verbose asks through the control socket; leave --listen and --url out.")
        }
        if let listen, listen.localURL == nil { throw ValidationError("A unix socket cannot be asked.") }
    }

    func run() async throws {
        let environment = ProcessEnvironment.variables()
        let directory = data ?? environment["BALLOON_DATA_DIRECTORY"] ?? "data"
        let socket = directory + "/" + ControlRoutes.socketName
        let place = verbose ? .socket(path: socket) : try place(in: environment, socket)
        let answer: TransportResponse
        do throws(TransportError) {
            answer = try await ask(place, socket)
        } catch {
            // 1 and not 69: to who asks for health, a server that cannot be reached is not well.
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

    /// The answer of `/livez`, or of `/readyz` when every check is asked for.
    private func ask(_ place: Place, _ socket: String) async throws(TransportError) -> TransportResponse {
        let transport = try CurlTransport()
        let path = verbose ? "/readyz?verbose" : "/livez"
        do {
            return try await transport.send(place.request(path))
        } catch {
            // Somebody accepts connections there and does not speak plain HTTP.
            guard error.isAboutTheAnswer, listen != nil, Directory.exists(socket) else { throw error }
            return try await transport.send(Place.socket(path: socket).request(path))
        }
    }

    /// Where to ask: as told, else by the control socket, else where the environment says that the server listens, else
    /// at the default.
    ///
    /// The socket is there from the server's start to its end, and one that was killed leaves it behind.
    private func place(
        in environment: [String: String], _ socket: String
    ) throws(CommandFailure) -> Place {
        if let base = url ?? listen?.localURL { return .address(base) }
        if Directory.exists(socket) { return .socket(path: socket) }
        guard let text = environment[Self.variable] else { return .address("http://127.0.0.1:8080") }
        let address = SocketAddress(text)
        if case .unix(let path)? = address { return .socket(path: path) }
        guard let base = address?.localURL else {
            throw .badVariable(
                name: Self.variable,
                hint: "it must be HOST:PORT or unix:PATH, or name the server's address with --url")
        }
        return .address(base)
    }

    private static let variable = "BALLOON_LISTEN"
}

/// Where a server is asked for its health.
private enum Place: CustomStringConvertible {
    /// At its base URL.
    case address(String)
    /// By a unix socket on which it speaks plain HTTP.
    case socket(path: String)

    var description: String {
        switch self {
        case .address(let base): terminalText(base)
        case .socket(let path): terminalText(path)
        }
    }

    func request(_ path: String) -> TransportRequest {
        var base = "http://localhost"
        if case .address(let address) = self { base = address }
        var request = TransportRequest(
            url: base + path, timeout: .seconds(2), connectTimeout: .seconds(2), allowsPlainHTTP: true)
        if case .socket(let path) = self { request.unixSocket = path }
        return request
    }
}

extension TransportError {
    /// Whether a connection was made, and nothing that is HTTP came back.
    fileprivate var isAboutTheAnswer: Bool {
        switch self {
        case .interrupted, .failed: true
        case .requestInvalid, .schemeRefused, .hostUnresolved, .connectionFailed, .addressRefused,
            .contentFailed, .tlsFailed, .certificateRefused, .timedOut, .responseTooLarge, .cancelled:
            false
        }
    }
}
