import ArgumentParser
import BalloonPOSIX
import MessageServer
import MessageStore

/// The options that name the server of a command, by its data directory or its configuration file.
struct DataOptions: ParsableArguments {
    @Option(
        name: .customLong("data"),
        help: ArgumentHelp(
            "The data directory; else that of --config, else BALLOON_DATA_DIRECTORY, else data.",
            valueName: "dir"))
    var directory: String?

    @Option(help: ArgumentHelp("The server's configuration file.", valueName: "file"))
    var config: String?

    /// The data directory that the options, the configuration or the environment name; otherwise `data`.
    var data: String {
        get throws {
            if let directory { return directory }
            let environment = ProcessEnvironment.variables()
            return try ConfigurationLoader.dataDirectory(file: config, environment: environment)
                ?? Dev.defaultDirectory
        }
    }

    /// Returns the settings of erasures, with the ledger that the configuration names or the one in the data
    /// directory.
    func erasureSettings() throws -> CustomerErasure.Settings {
        var settings = CustomerErasure.Settings()
        if let config {
            let store = try ConfigurationLoader.store(file: config)
            settings.ledger = store.erasureLedger
            settings.ledgerDays = store.erasureLedgerDays
        }
        return settings
    }
}

/// The option of a command whose work continues in the server when the command is interrupted.
struct ResumedJob: ParsableArguments {
    @Option(help: ArgumentHelp("Wait for this running job.", valueName: "id"))
    var resume: String?

    func validate() throws {
        if let resume, !ControlRoutes.isJob(resume) {
            throw ValidationError(
                "--resume takes the job id that the command printed; \(terminalText(resume)) is not one.")
        }
    }
}

extension ArgumentHelp {
    /// The help of an option that names a business, or chooses what concerns it.
    static let business = ArgumentHelp(
        "The business: its slug, its identifier, or the beginning of either.", valueName: "business")
}
