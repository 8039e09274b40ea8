import ArgumentParser
import BalloonPOSIX
import MessageServer

/// The server that a command works with, by its data directory or its file.
struct DataOptions: ParsableArguments {
    @Option(
        name: .customLong("data"),
        help: ArgumentHelp(
            "The data directory; else that of --config, of BALLOON_DATA_DIRECTORY, or data.", valueName: "dir"
        ))
    var directory: String?

    @Option(help: ArgumentHelp("The server's file.", valueName: "file"))
    var config: String?

    /// The data directory.
    var data: String {
        get throws {
            if let directory { return directory }
            let environment = ProcessEnvironment.variables()
            return try ConfigurationLoader.dataDirectory(file: config, environment: environment)
                ?? Dev.defaultDirectory
        }
    }
}
