import BusinessMessages
import SignIn
import Synchronization

/// The current settings `authentication` of all businesses; a reload replaces them.
final class SignInSettings: Sendable {
    /// A business with an identity provider.
    struct Business: Sendable {
        let id: BusinessID
        let slug: String
        let name: String
        let authentication: AuthenticationConfiguration
    }

    private struct State {
        var businesses: [Business]
        var publicURL: String?
    }

    private let state: Mutex<State>

    init(_ businesses: [BusinessConfiguration] = [], publicURL: String? = nil) {
        state = Mutex(State(businesses: Self.settings(of: businesses), publicURL: publicURL))
    }

    /// The settings of a business; nil when it has no provider.
    subscript(business: BusinessID) -> Business? {
        state.withLock { state in state.businesses.first { $0.id == business } }
    }

    /// The settings of the business with this slug; nil when it has no provider.
    func business(slug: String) -> Business? {
        state.withLock { state in state.businesses.first { $0.slug == slug } }
    }

    /// Whether a business can open the token of a device that signs in with version 1.
    func hasClassic(_ business: BusinessID) -> Bool { self[business]?.authentication.provider.classic != nil }

    /// The address to which the provider sends the customer's browser back; nil when the server's own address is not
    /// known.
    func redirectURI(of slug: String) -> String? {
        state.withLock(\.publicURL).map { $0 + "/auth/\(slug)/callback" }
    }

    /// Replaces the settings of all businesses.
    func change(to businesses: [BusinessConfiguration]) {
        let settings = Self.settings(of: businesses)
        state.withLock { $0.businesses = settings }
    }

    /// Uses the address of the listener when the configuration has no `publicURL`, as for a development
    /// server.
    func use(listener url: String) {
        state.withLock { $0.publicURL = $0.publicURL ?? url }
    }

    private static func settings(of businesses: [BusinessConfiguration]) -> [Business] {
        businesses.compactMap { business in
            business.authentication.map {
                Business(
                    id: business.businessID, slug: business.slug, name: business.name, authentication: $0)
            }
        }
    }
}
