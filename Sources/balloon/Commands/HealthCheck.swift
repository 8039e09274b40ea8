import ArgumentParser
import BalloonPOSIX
import BalloonTransport

/// `balloon healthcheck`: asks the server on this machine whether it lives.
struct HealthCheck: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "healthcheck",
        abstract: "Ask a server whether it lives; exits with 0 or 1.",
        discussion:
            "Without an option it asks where BALLOON_LISTEN says that the server listens, else port 8080.")

    @Option(help: ArgumentHelp("Where the server listens.", valueName: "host:port"))
    var listen: SocketAddress?

    @Option(help: ArgumentHelp("The server's base address instead.", valueName: "url"))
    var url: String?

    func validate() throws {
        guard listen == nil || url == nil else {
            throw ValidationError("--listen and --url exclude each other.")
        }
        if let listen, listen.localURL == nil { throw ValidationError("A unix socket cannot be asked.") }
    }

    func run() async throws {
        let base = try base(in: ProcessEnvironment.variables())
        let request = TransportRequest(
            url: base + "/livez", timeout: .seconds(3), connectTimeout: .seconds(3), allowsPlainHTTP: true)
        let status: Int
        do throws(TransportError) {
            status = try await CurlTransport().send(request).status
        } catch {
            // 1 and not 69: to who asks for health, a server that cannot be reached is not well.
            StandardStream.error.write("error: \(base) does not answer: \(error.reason)\n")
            throw ExitCode(CommandStatus.failed.rawValue)
        }
        guard status == 200 else { throw CommandFailure.refused(status: status, answer: base) }
        StandardStream.output.write("ok\n")
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
