import ArgumentParser
import BalloonPOSIX
import HandlerBridges
import HandlerKit
import MessageServer
import Synchronization

/// `balloon config …`: checks the configuration without a server.
struct Config: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check a configuration.", subcommands: [Check.self])

    /// `balloon config check`: reads the whole configuration like the server.
    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Read a configuration as the server would, and report every problem.",
            discussion: "Also reports programs that cannot be started; a server starts without them.")

        @Option(help: ArgumentHelp("The server's configuration file.", valueName: "file"))
        var config: String

        func run() async throws {
            _ = try LogOptions.level(in: ProcessEnvironment.variables())
            let programs = ProgramCheck()
            let others = BuiltinHandlers.all.filter { $0.name != programs.name }
            let configuration: ServerConfiguration
            do throws(ConfigurationError) {
                configuration = try ConfigurationLoader.load(
                    file: config, environment: ProcessEnvironment.variables(), handlers: [programs] + others)
            } catch {
                throw ConfigurationError.problems(error.problems + programs.problems)
            }
            guard programs.problems.isEmpty else { throw ConfigurationError.problems(programs.problems) }
            for warning in configuration.warnings + configuration.businesses.warningsAboutPeople {
                StandardStream.error.write("warning: \(terminalText("\(warning)"))\n")
            }
            let slugs = configuration.businesses.map(\.slug).joined(separator: ", ")
            StandardStream.output.write("\(config) is valid; businesses: \(slugs)\n")
        }
    }
}

/// Creates handlers that are programs, and records those that cannot be started.
private final class ProgramCheck: HandlerBinder {
    private let binder = ExecBinder()
    private let found = Mutex<[ConfigurationProblem]>([])

    var name: String { binder.name }
    var problems: [ConfigurationProblem] { found.withLock { $0 } }

    func make(_ request: HandlerBindingRequest) throws -> any Handler {
        if let obstacle = ExecBinder.obstacle(of: request.binding, in: request.directory) {
            let problem = ConfigurationProblem(
                at: .file("\(request.directory)/\(request.slug).json"),
                "names the program \(terminalText(obstacle.program)), which cannot be started: \(obstacle.error)",
                hint: terminalText(obstacle.advice))
            found.withLock { $0.append(problem) }
        }
        return try binder.make(request)
    }
}
