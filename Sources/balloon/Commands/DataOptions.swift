import ArgumentParser
import BalloonPOSIX
import MessageServer
import MessageStore

/// The options that name the server of a command, by its data directory or its configuration file.
struct DataOptions: ParsableArguments {
    @Option(
        name: .customLong("data"),
        help: .value(
            "dir", "The data directory; else that of --config, else BALLOON_DATA_DIRECTORY, else data."))
    var directory: String?

    @Option(help: .value("file", "The server's configuration file."))
    var config: String?

    /// The data directory that the options, the configuration or the environment name; otherwise `data`.
    var data: String {
        get throws { try Self.directory(directory, config: config) }
    }

    /// The data directory that `given` names, or else the configuration file, the environment, or `data`.
    static func directory(_ given: String?, config: String?) throws(ConfigurationError) -> String {
        if let given { return given }
        let environment = ProcessEnvironment.variables()
        return try ConfigurationLoader.dataDirectory(file: config, environment: environment)
            ?? Dev.defaultDirectory
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
    @Option(help: .value("id", "Wait for this running job."))
    var resume: String?

    func validate() throws {
        if let resume, !ControlRoutes.isJob(resume) {
            throw ValidationError(
                "--resume takes the job id that the command printed; \(terminalText(resume)) is not one.")
        }
    }
}

extension ArgumentHelp {
    /// The help of an option or argument whose value is called `name`.
    static func value(_ name: String, _ text: String) -> ArgumentHelp {
        ArgumentHelp(text, valueName: name)
    }

    /// The help of an option that names a business, or chooses what concerns it.
    static let business = ArgumentHelp(
        "The business: its slug, its identifier, or the beginning of either.", valueName: "business")
}

/// Throws a usage error unless the arguments agree.
func require(_ isMet: Bool, _ text: @autoclosure () -> String) throws(ValidationError) {
    guard isMet else { throw ValidationError(text()) }
}
