/// The program that loads a configuration; it decides which secrets are read.
package enum ConfigurationPurpose: Sendable {
    /// A production server: reads the MSP's secret, the TLS files and the secrets of the handlers.
    case server
    /// A development server, which generates its own MSP secret and serves no TLS: reads only the secrets of the
    /// handlers.
    case development
    /// A program that simulates Apple: reads only the MSP's secret, and does not check handlers.
    case customer

    /// Returns the environment; for ``development`` without the variables of the MSP's secret.
    func relevant(_ environment: [String: String]) -> [String: String] {
        guard self == .development else { return environment }
        let secret = EnvironmentKey.secret
        return environment.filter { $0.key != secret.rawValue && $0.key != secret.fileVariable }
    }
}
