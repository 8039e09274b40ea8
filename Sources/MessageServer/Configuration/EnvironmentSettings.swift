/// The settings from the environment.
struct EnvironmentSettings {
    private var settings: [EnvironmentKey: Setting] = [:]
    /// The keys set in the environment, including those with an invalid value.
    private(set) var given: Set<EnvironmentKey> = []

    /// The setting; nil when it is absent or invalid.
    subscript(_ key: EnvironmentKey) -> Setting? { settings[key] }

    /// Known variables of the program that are not settings of the server.
    private static let others = ["BALLOON_LOG_LEVEL"]

    /// Reads the settings from `environment`; `named` are the variables that the server's file names for its
    /// secrets.
    init(
        _ environment: [String: String], named: [String], noting problems: inout [ConfigurationProblem]
    ) {
        let known = EnvironmentKey.allCases.flatMap { [$0.rawValue, $0.fileVariable] } + Self.others
        for name in environment.keys.sorted() where name.hasPrefix("BALLOON_") {
            guard !known.contains(name), !named.contains(name), !isServiceLink(name) else { continue }
            let nearest = nearestSpelling(to: name, among: known).map { "did you mean \($0)?" }
            problems.add(at: .variable(name), "is not a known variable", hint: nearest ?? "unset it")
        }
        for key in EnvironmentKey.allCases
        where environment[key.rawValue] != nil || environment[key.fileVariable] != nil {
            given.insert(key)
            settings[key] = Self.setting(key, in: environment, noting: &problems)
        }
    }

    private static func setting(
        _ key: EnvironmentKey, in environment: [String: String],
        noting problems: inout [ConfigurationProblem]
    ) -> Setting? {
        let name = key.rawValue
        switch (environment[name], environment[key.fileVariable]) {
        case (nil, nil): return nil
        case (let text?, nil): return Setting(text: text, place: .variable(name))
        case (nil, let path?):
            return Setting(text: path, place: .variable(key.fileVariable)).content(noting: &problems)
        case (_?, _?):
            problems.add(
                at: .variable(name), "is set together with \(key.fileVariable)", hint: "unset one of them")
            return nil
        }
    }
}

/// Whether Kubernetes set the variable automatically for a service named "balloon" in the same namespace.
private func isServiceLink(_ name: String) -> Bool {
    name == "BALLOON_PORT" || name.hasPrefix("BALLOON_PORT_") || name.hasPrefix("BALLOON_SERVICE_HOST")
        || name.hasPrefix("BALLOON_SERVICE_PORT")
}
