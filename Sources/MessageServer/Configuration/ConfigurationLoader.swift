import BalloonJSON
package import HandlerKit

/// Loads a configuration from the server's file, the files of the businesses beside it, and the environment.
package enum ConfigurationLoader {
    /// Reads all parts, or throws all problems.
    ///
    /// The businesses are `businesses/SLUG.json` next to `file`. The environment overrides the file.
    /// `handlers` are the handlers of the program, each of which is created once to check its own
    /// configuration; nil leaves the bindings unchecked.
    package static func load(
        file: String, environment: [String: String], handlers: [any HandlerFactory]? = nil
    ) throws(ConfigurationError) -> ServerConfiguration {
        var problems: [ConfigurationProblem] = []
        let folder = ConfigurationFile.folder(of: file)
        let draft = draft(file, folder, environment, noting: &problems)
        var late: [ConfigurationProblem] = []
        let businesses = BusinessFolder.read(folder + "businesses", handlers: handlers, noting: &late)
        let loaded = draft.configuration(businesses: businesses, noting: &problems)
        problems += late
        guard var configuration = loaded, problems.isEmpty else { throw .problems(problems) }
        configuration.warnings = SecretFiles.warnings(
            about: draft.secretFiles(folder, environment) + SecretFiles.files(of: businesses))
        return configuration
    }

    private static func draft(
        _ file: String, _ folder: String, _ environment: [String: String],
        noting problems: inout [ConfigurationProblem]
    ) -> ServerDraft {
        let serverFile =
            ConfigurationFile.document(file, noting: &problems)
            .map { ServerFile($0.root, file: file, noting: &problems) } ?? ServerFile(unreadable: file)
        let settings = EnvironmentSettings(
            environment, named: serverFile.secret?.variableName, noting: &problems,
            reading: ConfigurationFile.text)
        // A reference is resolved only when it is used: when the environment gives the secret, its file may
        // be absent.
        let secret =
            settings.given.contains(.secret)
            ? nil
            : serverFile.secret?.resolved(
                in: environment, folder: folder, noting: &problems, reading: ConfigurationFile.text)
        return ServerDraft(
            file: serverFile, environment: settings, referencedSecret: secret,
            tls: serverFile.tls?.resolved(folder: folder, noting: &problems))
    }
}
