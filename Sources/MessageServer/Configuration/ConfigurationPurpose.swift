/// The use of a loaded configuration, which decides the secrets that are read.
package enum ConfigurationPurpose: Sendable {
    /// A server with every part.
    case server
    /// A server with an MSP's secret of its own and without TLS: reads the secrets of the handlers only.
    case development
    /// A program that plays Apple: reads the MSP's secret only, and leaves handlers unchecked.
    case customer

    /// The environment without variables that are not used.
    func relevant(_ environment: [String: String]) -> [String: String] {
        guard self == .development else { return environment }
        let secret = EnvironmentKey.secret
        return environment.filter { $0.key != secret.rawValue && $0.key != secret.fileVariable }
    }
}
