import BalloonPOSIX
import Logging
import MessageServer
import Payments
import Simulator

/// The Apple Pay merchant of `balloon dev`, for the businesses whose files name none, at a simulated service for merchant
/// sessions.
struct DevelopmentMerchant {
    private let service: FakeMerchantSessions

    /// Starts the service on a loopback port that the system chooses; its certificates are in the data directory.
    static func start(in data: String, _ logger: Logger) async throws -> DevelopmentMerchant {
        let folder = data + "/development-merchant"
        try Directory.make(folder)
        let service = try FakeMerchantSessions(directory: folder, logger: logger)
        try await service.start()
        return DevelopmentMerchant(service: service)
    }

    /// Adds the merchant to the businesses that have none.
    func adjust(_ configuration: inout ServerConfiguration) {
        for index in configuration.businesses.indices where configuration.businesses[index].applePay == nil {
            var merchant = MerchantIdentity(
                merchantIdentifier: "merchant.example.development", domainName: "localhost",
                displayName: String(configuration.businesses[index].name.prefix(64)),
                certificateFile: service.certificateFile, keyFile: service.keyFile)
            merchant.sessionURL = service.sessionURL ?? merchant.sessionURL
            merchant.authoritiesFile = service.authoritiesFile
            configuration.businesses[index].applePay = ApplePayConfiguration(merchant: merchant)
        }
    }

    func stop() async { await service.stop() }
}
