import BusinessMessages
import SignIn

/// The settings `authentication` of all businesses in the configuration in effect.
struct SignInSettings: Sendable {
    /// A business with an identity provider.
    struct Business: Sendable {
        let id: BusinessID
        let slug: String
        let name: String
        let authentication: AuthenticationConfiguration
    }

    private let configuration: CurrentConfiguration

    init(_ configuration: CurrentConfiguration) { self.configuration = configuration }

    init(_ businesses: [BusinessConfiguration] = [], publicURL: String? = nil) {
        self.init(CurrentConfiguration(businesses, publicURL: publicURL))
    }

    /// The settings of a business; nil when it has no provider.
    subscript(business: BusinessID) -> Business? { configuration[business].flatMap { Business($0) } }

    /// The settings of the business with this slug; nil when it has no provider.
    func business(slug: String) -> Business? {
        configuration.businesses.first { $0.slug == slug }.flatMap { Business($0) }
    }

    /// Whether a business can open the token of a device that signs in with version 1.
    func hasClassic(_ business: BusinessID) -> Bool { self[business]?.authentication.provider.classic != nil }

    /// The address to which the provider sends the customer's browser back; nil when the server's own address is not
    /// known.
    func redirectURI(of slug: String) -> String? {
        configuration.publicURL.map { $0 + "/auth/\(slug)/callback" }
    }
}

extension SignInSettings.Business {
    fileprivate init?(_ business: BusinessConfiguration) {
        guard let authentication = business.authentication else { return nil }
        self.init(
            id: business.businessID, slug: business.slug, name: business.name,
            authentication: authentication)
    }
}
