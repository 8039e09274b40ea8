import ArgumentParser
import BalloonPOSIX
import HandlerBridges
import HandlerKit
import MessageServer
import SignIn
import Synchronization

/// `balloon config …`: checks the configuration without a server.
struct Config: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check a configuration.", subcommands: [Check.self])

    /// `balloon config check`: reads the whole configuration as the server does.
    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Read a configuration as the server would, and report every problem.",
            discussion: """
                Also reports programs that cannot be started; a server starts without them. With --online it asks each \
                business's identity provider for its discovery document and its keys.
                """)

        @Option(help: ArgumentHelp("The server's configuration file.", valueName: "file"))
        var config: String

        @Flag(help: "Ask the identity providers for their discovery documents and keys.")
        var online = false

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
            if online { try await checkProviders(of: configuration.businesses) }
            let slugs = configuration.businesses.map(\.slug).joined(separator: ", ")
            StandardStream.output.write("\(config) is valid; businesses: \(slugs)\n")
        }

        /// Asks the provider of each business, and reports each provider at which no customer could sign in.
        private func checkProviders(of businesses: [BusinessConfiguration]) async throws {
            let client = try SignInClient()
            var problems: [ConfigurationProblem] = []
            for business in businesses {
                guard let provider = business.authentication?.provider else { continue }
                do throws(SignInFailure) {
                    let check = try await client.check(provider)
                    if check.authorizationURL == nil {
                        StandardStream.error.write(
                            "warning: \(business.slug): the provider names no authorization address; enter it in"
                                + " Apple Business Register\n")
                    }
                    if check.ignoresAnnouncedIssuer {
                        StandardStream.error.write(
                            "warning: \(business.slug): the provider announces iss in its callbacks, and a callback"
                                + " without it would be accepted; set authentication.authorizationResponseIss to true\n"
                        )
                    }
                } catch {
                    problems.append(
                        ConfigurationProblem(
                            at: .file("\(business.directory)/\(business.slug).json"),
                            "names a provider at which no customer can sign in: \(error.reason)",
                            hint: "compare authentication with the provider's documentation"))
                }
            }
            guard problems.isEmpty else { throw ConfigurationError.problems(problems) }
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
