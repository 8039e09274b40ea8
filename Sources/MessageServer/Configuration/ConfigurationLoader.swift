import BalloonPOSIX
package import HandlerKit
package import Replication

/// Loads a configuration from the server's file, the files of the businesses beside it, and the environment.
package enum ConfigurationLoader {
    /// Loads the configuration from all files and the environment; throws all problems together.
    ///
    /// The businesses are `businesses/SLUG.json` next to `file`, and the apps `apps/SLUG.json`. The
    /// environment overrides the file. `handlers` are the factories of the program's handlers, each of which
    /// creates its handler once to check the handler's configuration; nil leaves the bindings unchecked. For
    /// ``ConfigurationPurpose/development`` the MSP's secret is a random one.
    package static func load(
        file: String, environment: [String: String], handlers: [any HandlerFactory]? = nil,
        for purpose: ConfigurationPurpose = .server
    ) throws(ConfigurationError) -> ServerConfiguration {
        var problems: [ConfigurationProblem] = []
        let folder = ConfigurationFile.folder(of: file)
        let environment = purpose.relevant(environment)
        let handlers = purpose == .customer ? nil : handlers
        let draft = ServerDraft(file, folder, environment, purpose, noting: &problems)
        var late: [ConfigurationProblem] = []
        let secrets =
            purpose == .customer
            ? nil
            : BusinessSecrets(environment: environment, allowsLoopback: purpose == .development)
        let businesses = BusinessFolder.read(
            folder + "businesses", handlers: handlers, secrets: secrets, noting: &late)
        let loaded = draft.configuration(businesses: businesses, noting: &problems)
        // `businesses` lacks every business with a problem in its file, so its slug would be reported as
        // unknown.
        if late.isEmpty { draft.file.api?.checkBusinesses(businesses, noting: &problems) }
        late += missingAddress(for: businesses, publicURL: loaded?.publicURL, purpose, at: file)
        if late.isEmpty { late += businesses.problemsOfDomains }
        var warnings: [ConfigurationProblem] = []
        let apps =
            purpose == .customer
            ? []
            : AppFolder.read(
                folder + "apps", handlers: handlers, noting: &late,
                warnings: &warnings)
        problems += late
        guard var configuration = loaded, problems.isEmpty else { throw .problems(problems) }
        configuration.apps = apps
        let secretFiles =
            draft.secretFiles(folder, environment) + SecretFiles.files(of: businesses) + apps.map(\.keyFile)
        if purpose == .server {
            configuration.warnings = SecretFiles.warnings(about: secretFiles) + warnings
            configuration.addWarnings(in: file)
        }
        return configuration
    }

    /// Returns a problem for each setting that needs the server's public https address, when there is none.
    private static func missingAddress(
        for businesses: [BusinessConfiguration], publicURL: String?, _ purpose: ConfigurationPurpose,
        at file: String
    ) -> [ConfigurationProblem] {
        guard purpose == .server, publicURL?.lowercased().hasPrefix("https://") != true else { return [] }
        let needs = [
            (
                "authentication", "to which a provider sends customers back",
                businesses.contains { $0.authentication != nil }
            ), ("applePay", "at which devices pay", businesses.contains { $0.applePay != nil }),
        ]
        return needs.filter(\.2).map { key, use, _ in
            ConfigurationProblem(
                at: .file(file), "has no \"publicURL\" with https, \(use)",
                hint: "add it, or remove \"\(key)\" from the businesses")
        }
    }

    /// The data directory that a server with this file uses; reads no secret and no business.
    ///
    /// Without a file, it is the directory that the environment names; nil when the environment names none.
    package static func dataDirectory(
        file: String?, environment: [String: String]
    ) throws(ConfigurationError) -> String? {
        let environment = ConfigurationPurpose.development.relevant(environment)
        return try withoutProblems { problems in
            guard let file else {
                let key = EnvironmentKey.dataDirectory
                let relevant = environment.filter { $0.key == key.rawValue || $0.key == key.fileVariable }
                let settings = EnvironmentSettings(relevant, named: [], noting: &problems)
                return settings[key]?.parsed(SettingFormat.path, noting: &problems)
            }
            let folder = ConfigurationFile.folder(of: file)
            let draft = ServerDraft(file, folder, environment, .development, noting: &problems)
            return draft.configuration(businesses: [], noting: &problems)?.dataDirectory
        }
    }

    /// Returns what `read` returns; throws the problems that it appends, if any.
    private static func withoutProblems<Value>(
        _ read: (inout [ConfigurationProblem]) -> Value
    ) throws(ConfigurationError) -> Value {
        var problems: [ConfigurationProblem] = []
        let value = read(&problems)
        guard problems.isEmpty else { throw .problems(problems) }
        return value
    }

    /// The businesses beside a server's file, without their members that need a secret.
    package static func businessConfigurations(
        file: String
    ) throws(ConfigurationError) -> [BusinessConfiguration] {
        let folder = ConfigurationFile.folder(of: file) + "businesses"
        return try withoutProblems { BusinessFolder.read(folder, handlers: nil, noting: &$0) }
    }

    /// The settings of the store in a server's file; reads no secret of the server.
    package static func store(file: String) throws(ConfigurationError) -> StoreSettings {
        try withoutProblems { problems in
            let document = ConfigurationFile.document(file, noting: &problems)
            return document.map { ServerFile($0.root, file: file, noting: &problems).settings.store }
                ?? StoreSettings()
        }
    }

    /// The database of the store in a server's file; nil when its disk keeps it.
    package static func postgres(
        file: String, environment: [String: String]
    ) throws(ConfigurationError) -> ReplicaSettings? {
        let reference = try store(file: file).postgres
        return try withoutProblems {
            reference?.resolved(in: environment, folder: ConfigurationFile.folder(of: file), noting: &$0)
        }
    }

    /// The apps beside a server's file, and the problems that do not prevent a start; reads no secret of the
    /// server.
    ///
    /// `handlers` are the handlers of the program; nil leaves the bindings unchecked.
    package static func apps(
        file: String, handlers: [any HandlerFactory]? = nil
    ) throws(ConfigurationError) -> (apps: [AppConfiguration], warnings: [ConfigurationProblem]) {
        let folder = ConfigurationFile.folder(of: file) + "apps"
        var warnings: [ConfigurationProblem] = []
        let apps = try withoutProblems {
            AppFolder.read(folder, handlers: handlers, noting: &$0, warnings: &warnings)
        }
        return (apps, warnings)
    }
}

extension ServerConfiguration {
    /// Adds the warnings that the settings alone give.
    fileprivate mutating func addWarnings(in file: String) {
        warnings += businesses.warningsAboutMerchantCertificates(at: SystemClock.secondsSince1970())
        let identifiers = businesses.map { business in
            ("\(business.directory)/\(business.slug).json", "businessID", business.businessID.rawValue)
        }
        for (file, key, text) in [(file, "mspID", mspID)] + identifiers {
            guard let doubt = SettingFormat.doubt(about: text) else { continue }
            warn(
                file, "has a \"\(key)\" \(doubt.reason), which Apple's requests would not match",
                hint: doubt.hint)
        }
        if let drainDelay, drainDelay > StopTimes(shutdownTime).longestDrain {
            // At most 5 seconds of `shutdownSeconds`, and at most half of it, are for the end of a stop.
            let enough = min(drainDelay * 4, drainDelay * 2 + .seconds(5))
            warn(
                file,
                "has a \"drainDelaySeconds\" that is more than half of the time for requests: a stop drains for a shorter time",
                hint:
                    "make shutdownSeconds at least \(enough.components.seconds), or lower drainDelaySeconds")
        }
        if api.tokens.isEmpty {
            guard api.hasInbox else { return }
            return warn(
                file, "has \"inbox\" in \"api\", but no token to open it with",
                hint: "issue one with balloon token issue --may read,send")
        }
        if adminListen == .off {
            warn(
                file, "has tokens in \"api\", but no admin listener that serves them",
                hint: "set adminListen to an address")
        }
        if gateway.replyLifetime > store.deduplicationWindow {
            warn(
                file,
                "has a \"giveUpAfterHours\" greater than its \"deduplicationHours\": a repeated request of the API can send a message"
                    + " again that was sent late", hint: "make deduplicationHours at least as great")
        }
    }

    private mutating func warn(_ file: String, _ reason: String, hint: String) {
        warnings.add(at: .file(file), reason, hint: hint)
    }
}
