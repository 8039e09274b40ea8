/// An environment of the App Store; the raw value is the one in Apple's requests.
///
/// `Xcode` and `LocalTesting` are none: their requests have no signature that anyone could verify.
public enum RetentionEnvironment: String, Sendable, Hashable, CaseIterable {
    /// The environment of testers, in which everything is approved at once.
    case sandbox = "Sandbox"
    /// The environment of customers.
    case production = "Production"

    /// The name in paths, files and commands: `sandbox` or `production`.
    public var name: String {
        switch self {
        case .sandbox: "sandbox"
        case .production: "production"
        }
    }

    /// The environment with this ``name``; nil for every other text.
    public init?(name: String) {
        guard let found = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = found
    }
}
