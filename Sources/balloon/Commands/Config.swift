import ArgumentParser
import BalloonPOSIX
import MessageServer

/// `balloon config …`: the configuration, without a server.
struct Config: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Look at a configuration.", subcommands: [Check.self])

    /// `balloon config check`: reads everything as the server would.
    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Read a configuration as the server would, and report every problem.")

        @Option(help: ArgumentHelp("The server's file.", valueName: "file"))
        var config: String

        func run() async throws {
            let configuration = try ConfigurationLoader.load(
                file: config, environment: ProcessEnvironment.variables(), handlers: BuiltinHandlers.all)
            let slugs = configuration.businesses.map(\.slug).joined(separator: ", ")
            StandardStream.output.write("\(config) is sound; businesses: \(slugs)\n")
        }
    }
}
