/// An environment of the App Store; the raw value is the name in Apple's requests.
///
/// The names `Xcode` and `LocalTesting` are refused, because the signatures of such requests cannot be
/// verified.
public enum RetentionEnvironment: String, Sendable, Hashable, CaseIterable {
    /// The environment of testers, in which everything is approved at once.
    case sandbox = "Sandbox"
    /// The environment of customers.
    case production = "Production"

    /// The name in paths, files and commands: `sandbox` or `production`.
    public var name: String { rawValue.lowercased() }

    /// The environment with this ``name``; nil for every other text.
    public init?(name: String) {
        guard let found = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = found
    }
}
