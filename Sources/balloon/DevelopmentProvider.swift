import BalloonJSON
import BalloonPOSIX
import BalloonWire
import Logging
import MessageServer
import SignIn
import Simulator

/// The identity provider of `balloon dev`, for the businesses whose files name none.
struct DevelopmentProvider {
    /// The client of version 2.
    static let clientID = "balloon"
    /// The client of version 1.
    static let classicClientID = "balloon-classic"

    private let provider: FakeProvider
    private let authentication: AuthenticationConfiguration

    /// Starts the provider on a loopback port that the system chooses.
    static func start(_ logger: Logger) async throws -> DevelopmentProvider {
        let secret = try randomSecret()
        let classicSecret = try randomSecret()
        let provider = try FakeProvider(
            clients: [clientID: secret, classicClientID: classicSecret], signing: .es256, logger: logger)
        let issuer = "http://\(try await provider.start())"
        var client = Provider(
            issuer: issuer, clientID: clientID, clientAuthentication: .post(secret),
            scope: ["openid", "email"])
        client.allowsLoopback = true
        client.classic = ClassicClient(
            clientID: classicClientID, clientSecret: classicSecret,
            introspectionURL: issuer + ProviderEndpoint.introspection.rawValue)
        return DevelopmentProvider(
            provider: provider, authentication: AuthenticationConfiguration(provider: client))
    }

    /// The provider's base URL.
    var url: String { provider.issuer ?? "" }

    /// Adds the provider to the businesses that have none.
    func adjust(_ configuration: inout ServerConfiguration) {
        for index in configuration.businesses.indices
        where configuration.businesses[index].authentication == nil {
            configuration.businesses[index].authentication = authentication
        }
    }

    func stop() async { await provider.stop() }

    private static func randomSecret() throws -> Secret {
        try Secret(Array(Base64.encode(randomBytes(24), alphabet: .url).utf8))
    }
}
