import BusinessMessages
import SignIn

/// The settings `authentication` of all businesses in the configuration in effect.
typealias SignInSettings = BusinessSections<AuthenticationConfiguration>

extension BusinessSections<AuthenticationConfiguration> {
    init(_ configuration: CurrentConfiguration) { self.init(configuration, \.authentication) }

    /// Whether a business can open the token of a device that signs in with version 1.
    func hasClassic(_ business: BusinessID) -> Bool { self[business]?.section.provider.classic != nil }

    /// The address to which the provider sends the customer's browser back; nil when the server's own address is not
    /// known.
    func redirectURI(of slug: String) -> String? {
        configuration.publicURL.map { $0 + "/auth/\(slug)/callback" }
    }
}
