import BusinessMessages
import Logging
import MessageServer
import Simulator

/// The simulators of what is outside a development server: Apple's gateway, an identity provider, and Apple Pay's
/// service for merchant sessions.
struct DevelopmentSimulators {
    let gateway: FakeGateway
    let provider: DevelopmentProvider
    private let merchant: DevelopmentMerchant

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
            do { merchant = try await DevelopmentMerchant.start(in: directory, logger) } catch {
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
        merchant.adjust(&configuration)
        // A reload may change the businesses.
        gateway.serve(Set(configuration.businesses.map(\.businessID)))
    }

    func stop() async {
        await merchant.stop()
        await provider.stop()
        await gateway.stop()
    }
}
