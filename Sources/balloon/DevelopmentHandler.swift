import ArgumentParser
import BalloonPOSIX
import HandlerBridges
import HandlerKit
import Logging
import MessageServer

/// The options that choose the handlers of `balloon dev`.
///
/// The choices are a program, an HTTP service, the handlers of a configuration, and without an option the demo.
struct DevelopmentHandler: ParsableArguments {
    @Option(help: ArgumentHelp("A handler program to run instead of the demo.", valueName: "program"))
    var handler: String?

    @Option(
        help: ArgumentHelp(
            "The URL of a handler that is an HTTP service, instead of the demo.", valueName: "url")
    )
    var handlerURL: String?

    @Option(
        help: ArgumentHelp(
            "The environment variable with the secret of the HTTP service: whsec_ followed by Base64.",
            valueName: "name"))
    var handlerSecretEnv: String?

    @Option(
        help: ArgumentHelp(
            "A server's configuration file; its businesses and their handlers replace the demo.",
            valueName: "file"))
    var config: String?

    func validate() throws {
        if handler?.isEmpty ?? false { throw ValidationError("The handler's name is empty.") }
        guard [handler, handlerURL, config].compactMap(\.self).count <= 1 else {
            throw ValidationError("--handler, --handler-url and --config exclude each other.")
        }
        guard (handlerURL == nil) == (handlerSecretEnv == nil) else {
            throw ValidationError("--handler-url and --handler-secret-env belong together.")
        }
    }

    /// The handler binding of the demo business; nil when `--config` names the businesses.
    ///
    /// Checks the program or the address first, so that a wrong argument is reported before the server starts.
    func binding(for server: DevelopmentServer) throws -> HandlerBinding? {
        if config != nil { return nil }
        if let handler { return try program(handler) }
        guard let handlerURL else {
            return .builtin(name: DemoHandlerFactory().name, configuration: nil)
        }
        let json = JSONWriter.object { writer in
            writer.object("http") { writer in
                writer.field("url", handlerURL)
                writer.object("secret") { $0.field("env", handlerSecretEnv) }
            }
        }
        let binding = try JSONDocument(json).root
        let request = HandlerBindingRequest(
            binding: binding, business: server.businessID, slug: DevelopmentServer.slug, directory: ".",
            scratchDirectory: "", deadline: .seconds(30), maximumInFlight: 1, logger: Logger(label: "balloon")
        )
        do {
            _ = try HTTPBinder().make(request)
        } catch let error as BindingError {
            throw CommandFailure.unknownArgument(
                "--handler-url", reason: "is refused: \(error)",
                hint: "check the address, and the secret in the environment variable that was named")
        }
        return .bound(by: HTTPBinder().name, binding)
    }

    private func program(_ handler: String) throws -> HandlerBinding {
        let program = SpawnedProcess.Program([handler], environment: [:], directory: ".")
        if let error = program.obstacle {
            throw CommandFailure.unstartable(
                program: terminalText(handler), error, hint: terminalText(program.advice(about: error)))
        }
        let json = JSONWriter.object { writer in
            writer.array("exec") { $0.string(handler) }
        }
        return .bound(by: "exec", try JSONDocument(json).root)
    }
}
