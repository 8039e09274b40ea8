import BalloonWire

@testable import MessageServer

extension CurrentConfiguration {
    /// Uses these businesses alone, for parts that need no other setting.
    convenience init(_ businesses: [BusinessConfiguration] = [], publicURL: String? = nil) {
        var configuration = ServerConfiguration(
            mspID: "", secret: .random(byteCount: 32), businesses: businesses)
        configuration.publicURL = publicURL
        self.init(configuration)
    }
}

extension PaymentSettings {
    init(_ businesses: [BusinessConfiguration] = [], publicURL: String? = nil) {
        self.init(CurrentConfiguration(businesses, publicURL: publicURL))
    }
}

extension SignInSettings {
    init(_ businesses: [BusinessConfiguration] = [], publicURL: String? = nil) {
        self.init(CurrentConfiguration(businesses, publicURL: publicURL))
    }
}
