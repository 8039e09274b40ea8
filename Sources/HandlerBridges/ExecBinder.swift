package import BalloonJSON
package import BalloonPOSIX
package import HandlerKit

/// Creates handlers that are programs: `"handler": {"exec": ["./bot.py"], "environment": {"TZ": "UTC"},
/// "config": {}}`.
///
/// The program runs in the folder of the business's file. Its environment has the variables of ``inherited``, those
/// of `environment`, and `BALLOON_HANDLER_PROTOCOL`, `BALLOON_HANDLER_COOKIE` and `BALLOON_BUSINESS`.
package struct ExecBinder: HandlerBinder {
    /// The variables of the server's environment that a child inherits; none of them is a secret.
    package static let inherited = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR"]

    /// The key of such a binding in a business's file: `"handler": {"exec": …}`.
    package let name = "exec"
    private let timings: ChildTimings
    private let environment: [String: String]
    /// Watches the children; nil when no descriptors were left, and then no handler can be created.
    private let loop: DescriptorLoop?

    /// Creates a binder whose children inherit from `environment`.
    package init(
        timings: ChildTimings = ChildTimings(),
        environment: [String: String] = ProcessEnvironment.variables()
    ) {
        loop = try? DescriptorLoop()
        self.timings = timings
        self.environment = environment
    }

    /// Creates a handler; a missing program is reported only when the handler starts.
    package func make(_ request: HandlerBindingRequest) throws -> any Handler {
        try child(request)
    }

    /// The program of a binding, the reason why it cannot be started, and a hint; nil when no problem was
    /// found.
    ///
    /// A server starts nevertheless: the program may be installed later, and other businesses are not
    /// affected.
    package static func obstacle(
        of binding: JSONValue, in directory: String
    ) -> (program: String, error: SystemError, advice: String)? {
        guard let command = try? command(binding) else { return nil }
        let program = SpawnedProcess.Program(command, environment: [:], directory: directory)
        return program.obstacle.map { (command[0], $0, program.advice(about: $0)) }
    }

    /// Creates a child handler.
    package func child(_ request: HandlerBindingRequest) throws(BindingError) -> ChildHandler {
        guard let loop else { throw .descriptorsExhausted }
        let command = try Self.command(request.binding)
        let environment = Self.environment(
            for: request.slug, from: self.environment, adding: try variables(request.binding))
        let program = SpawnedProcess.Program(
            command, environment: environment, directory: request.directory)
        return ChildHandler(program, request, timings: timings, loop: loop)
    }

    private static let cookieName = "BALLOON_HANDLER_COOKIE"
    private static let cookieValue = "balloon-handler"
    /// A variable in the environment of a child and of all processes that it starts; it identifies them as a
    /// handler's processes.
    static var cookie: String { "\(cookieName)=\(cookieValue)" }

    /// The environment of a child: inherited variables, those of its binding, and its business.
    package static func environment(
        for slug: String, from inherited: [String: String] = ProcessEnvironment.variables(),
        adding variables: [(String, String)] = []
    ) -> [String: String] {
        var environment = inherited.filter { Self.inherited.contains($0.key) }
        for (name, value) in variables { environment[name] = value }
        environment["BALLOON_HANDLER_PROTOCOL"] = "1"
        environment[cookieName] = cookieValue
        environment["BALLOON_BUSINESS"] = slug
        return environment
    }

    private static func command(_ binding: JSONValue) throws(BindingError) -> [String] {
        let words = binding["exec"]?.elements.map { $0.string } ?? []
        let command = words.compactMap { $0 }
        guard !command.isEmpty, command.count == words.count, command[0] != "",
            command.allSatisfy({ !$0.utf8.contains(0) })
        else { throw .commandExpected }
        return command
    }

    private func variables(_ binding: JSONValue) throws(BindingError) -> [(String, String)] {
        guard let environment = binding["environment"] else { return [] }
        guard environment.kind == .object else { throw .environmentExpected }
        var variables: [(String, String)] = []
        for (name, value) in environment.members {
            guard let text = value.string, !name.isEmpty, !name.contains("="),
                !(name + text).utf8.contains(0)
            else { throw .environmentExpected }
            variables.append((name, text))
        }
        return variables
    }
}
