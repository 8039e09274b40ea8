import ArgumentParser
import BalloonPOSIX
import HandlerBridges
import MessageServer

/// `balloon config …`: the configuration, without a server.
struct Config: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Look at a configuration.", subcommands: [Check.self])

    /// `balloon config check`: reads everything as the server would.
    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Read a configuration as the server would, and report every problem.",
            discussion: "Also reports programs that cannot be started; a server starts without them.")

        @Option(help: ArgumentHelp("The server's file.", valueName: "file"))
        var config: String

        func run() async throws {
            _ = try LogOptions.level(in: ProcessEnvironment.variables())
            let configuration = try ConfigurationLoader.load(
                file: config, environment: ProcessEnvironment.variables(), handlers: BuiltinHandlers.all)
            let problems = configuration.businesses.flatMap(Self.problems)
            guard problems.isEmpty else { throw ConfigurationError.problems(problems) }
            let slugs = configuration.businesses.map(\.slug).joined(separator: ", ")
            StandardStream.output.write("\(config) is sound; businesses: \(slugs)\n")
        }

        /// The programs of a business that cannot be started.
        private static func problems(_ business: BusinessConfiguration) -> [ConfigurationProblem] {
            var bindings = [business.handler]
            if case .handler(let binding) = business.fallback?.answer { bindings.append(binding) }
            return bindings.compactMap { binding in
                guard case .bound(by: "exec", let value) = binding,
                    let obstacle = ExecBinder.obstacle(of: value, in: business.directory)
                else { return nil }
                return ConfigurationProblem(
                    at: .file("\(business.directory)/\(business.slug).json"),
                    "names the program \(terminalText(obstacle.program)), which cannot be started: \(obstacle.error)",
                    hint: terminalText(obstacle.advice))
            }
        }
    }
}
