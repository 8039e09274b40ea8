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
            Without an option it asks where BALLOON_LISTEN says that the server listens, else port 8080. A server that \
            speaks TLS there is asked through the control socket in its data directory.
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

    func validate() throws {
        guard listen == nil || url == nil else {
            throw ValidationError("--listen and --url exclude each other.")
        }
        if let listen, listen.localURL == nil { throw ValidationError("A unix socket cannot be asked.") }
    }

    func run() async throws {
        let environment = ProcessEnvironment.variables()
        let base = try base(in: environment)
        let directory = data ?? environment["BALLOON_DATA_DIRECTORY"] ?? "data"
        let status: Int
        do throws(TransportError) {
            status = try await ask(base, directory)
        } catch {
            // 1 and not 69: to who asks for health, a server that cannot be reached is not well.
            StandardStream.error.write("error: \(base) does not answer: \(error.reason)\n")
            throw ExitCode(CommandStatus.failed.rawValue)
        }
        guard status == 200 else { throw CommandFailure.refused(status: status, answer: base) }
        StandardStream.output.write("ok\n")
    }

    /// The status of `/livez`.
    private func ask(_ base: String, _ directory: String) async throws(TransportError) -> Int {
        let transport = try CurlTransport()
        var request = TransportRequest(
            url: base + "/livez", timeout: .seconds(2), connectTimeout: .seconds(2), allowsPlainHTTP: true)
        do {
            return try await transport.send(request).status
        } catch {
            let socket = directory + "/" + ControlRoutes.socketName
            // Somebody accepts connections there and does not speak plain HTTP.
            guard error.isAboutTheAnswer, url == nil, Directory.exists(socket) else { throw error }
            request.url = "http://localhost/livez"
            request.unixSocket = socket
            return try await transport.send(request).status
        }
    }

    /// Where to ask: as told, else where the environment says that the server listens, else at the default.
    private func base(in environment: [String: String]) throws(CommandFailure) -> String {
        if let base = url ?? listen?.localURL { return base }
        guard let text = environment[Self.variable] else { return "http://127.0.0.1:8080" }
        guard let base = SocketAddress(text)?.localURL else {
            throw .badVariable(
                name: Self.variable, hint: "it must be HOST:PORT, or name the server's address with --url")
        }
        return base
    }

    private static let variable = "BALLOON_LISTEN"
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
