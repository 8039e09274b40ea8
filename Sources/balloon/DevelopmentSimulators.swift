import BalloonPOSIX
import BusinessMessages
import Logging
import MessageServer
import Payments
import Simulator

/// The simulators of what is outside a development server: Apple's gateway, an identity provider, and Apple Pay's
/// service for merchant sessions.
struct DevelopmentSimulators {
    let gateway: FakeGateway
    let provider: DevelopmentProvider
    private let merchant: FakeMerchantSessions

    /// Starts the simulators for the businesses of `server`, which gets their addresses, or for those that a
    /// configuration will name.
    init(
        for server: inout DevelopmentServer, isConfigured: Bool, misbehaving rules: [MisbehaviourRule] = [],
        in directory: String, _ logger: Logger
    ) async throws {
        let gateway = FakeGateway(
            mspID: server.mspID, secret: server.secret,
            businesses: isConfigured ? nil : [server.businessID], logger: logger)
        for rule in rules { gateway.misbehave(rule) }
        server.gateway = "http://\(try await gateway.start())"
        self.gateway = gateway
        do {
            let provider = try await DevelopmentProvider.start(logger)
            server.provider = provider.url
            self.provider = provider
            do {
                // Its certificates are in the data directory.
                let folder = directory + "/development-merchant"
                try Directory.make(folder)
                merchant = try FakeMerchantSessions(directory: folder, logger: logger)
                try await merchant.start()
            } catch {
                await provider.stop()
                throw error
            }
        } catch {
            await gateway.stop()
            throw error
        }
    }

    /// Lets a server use the simulators.
    func adjust(_ configuration: inout ServerConfiguration) {
        provider.adjust(&configuration)
        for index in configuration.businesses.indices where configuration.businesses[index].applePay == nil {
            let name = configuration.businesses[index].name
            configuration.businesses[index].applePay = ApplePayConfiguration(merchant: identity(of: name))
        }
        // A reload may change the businesses.
        gateway.serve(Set(configuration.businesses.map(\.businessID)))
    }

    /// The simulated Apple Pay merchant of a business whose file names none.
    private func identity(of business: String) -> MerchantIdentity {
        var identity = MerchantIdentity(
            merchantIdentifier: "merchant.example.development", domainName: "localhost",
            displayName: String(business.prefix(64)), certificateFile: merchant.certificateFile,
            keyFile: merchant.keyFile)
        identity.sessionURL = merchant.sessionURL ?? identity.sessionURL
        identity.authoritiesFile = merchant.authoritiesFile
        return identity
    }

    func stop() async {
        await merchant.stop()
        await provider.stop()
        await gateway.stop()
    }
}
