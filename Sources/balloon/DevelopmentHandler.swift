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
    @Option(help: .value("program", "A handler program to run instead of the demo."))
    var handler: String?

    @Option(help: .value("url", "The URL of a handler that is an HTTP service, instead of the demo."))
    var handlerURL: String?

    @Option(
        help: .value(
            "name", "The environment variable with the secret of the HTTP service: whsec_ followed by Base64."
        ))
    var handlerSecretEnv: String?

    @Option(
        help: .value(
            "file", "A server's configuration file; its businesses and their handlers replace the demo."))
    var config: String?

    func validate() throws {
        if handler?.isEmpty ?? false { throw ValidationError("The handler's name is empty.") }
        try require(
            [handler, handlerURL, config].compactMap(\.self).count <= 1,
            "--handler, --handler-url and --config exclude each other.")
        try require(
            (handlerURL == nil) == (handlerSecretEnv == nil),
            "--handler-url and --handler-secret-env belong together.")
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
        let json = JSONWriter.object([
            "http": JSONObject(["url": handlerURL, "secret": JSONObject(["env": handlerSecretEnv])])
        ])
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
        return .bound(by: "exec", try JSONDocument(JSONWriter.object(["exec": [handler]])).root)
    }
}
