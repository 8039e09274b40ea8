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
        let environment = ProcessEnvironment.variables()
        let address = listen ?? environment["BALLOON_LISTEN"].flatMap { SocketAddress($0) }
        let base = url ?? address?.localURL ?? "http://127.0.0.1:8080"
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
}
