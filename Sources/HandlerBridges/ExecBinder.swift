package import BalloonPOSIX
package import HandlerKit

/// A binder for handlers that are programs: `"handler": {"exec": ["./bot.py"], "environment": {"TZ": "UTC"},
/// "config": {}}`.
///
/// The program runs in the folder of the business's file. Its environment consists of the variables in
/// ``inherited``, those in `environment`, and `BALLOON_HANDLER_PROTOCOL`, `BALLOON_HANDLER_COOKIE` and
/// `BALLOON_BUSINESS`.
package struct ExecBinder: HandlerBinder {
    /// The variables of the server's environment that a child inherits; none of them is a secret.
    package static let inherited = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR"]

    /// The key that selects this binder in a business's file: `"handler": {"exec": …}`.
    package let name = "exec"
    private let timings: ChildTimings
    private let environment: [String: String]
    /// The loop that watches the pipes of all children.
    ///
    /// Nil when no descriptors were left; then no handler can be created.
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

    /// Returns the program of a binding with the error and a hint if it cannot be started; nil when no
    /// problem was found.
    ///
    /// A server starts in spite of such a problem: the program may be installed later, and other businesses
    /// are not affected.
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
    /// A variable in the environment of each child, which its descendants inherit.
    ///
    /// It shows that a process was started by a handler.
    static var cookie: String { "\(cookieName)=\(cookieValue)" }

    /// Returns the environment of a child: inherited variables, those of the binding, and those about the
    /// business.
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
