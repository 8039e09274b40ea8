import ArgumentParser
import BalloonPOSIX
import HandlerKit
import MessageServer
import SignIn

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

        @Option(help: .value("file", "The server's configuration file."))
        var config: String

        @Flag(help: "Ask the identity providers for their discovery documents and keys.")
        var online = false

        func run() async throws {
            _ = try LogOptions.level(in: ProcessEnvironment.variables())
            let programs = ProgramCheck()
            let configuration: ServerConfiguration
            do throws(ConfigurationError) {
                configuration = try ConfigurationLoader.load(
                    file: config, environment: ProcessEnvironment.variables(), handlers: programs.handlers)
            } catch {
                throw ConfigurationError.problems(error.problems + programs.found.map(\.problem))
            }
            guard programs.found.isEmpty else {
                throw ConfigurationError.problems(programs.found.map(\.problem))
            }
            for warning in configuration.warnings
                + configuration.businesses.warningsAboutPeople + configuration.businesses.adviceForReview
            {
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
                    problems.add(
                        at: .file("\(business.directory)/\(business.slug).json"),
                        "names a provider at which no customer can sign in: \(error.reason)",
                        hint: "compare authentication with the provider's documentation")
                }
            }
            guard problems.isEmpty else { throw ConfigurationError.problems(problems) }
        }
    }
}

extension ProgramCheck.Obstacle {
    fileprivate var problem: ConfigurationProblem {
        ConfigurationProblem(
            at: .file("\(request.directory)/\(request.slug).json"),
            "names the program \(terminalText(program)), which cannot be started: \(error)",
            hint: terminalText(advice))
    }
}
