import BusinessMessages
import Payments
import Synchronization

/// The current settings `applePay` of all businesses; a reload replaces them.
final class PaymentSettings: Sendable {
    /// A business that takes payments.
    struct Business: Sendable {
        let id: BusinessID
        let slug: String
        let name: String
        let applePay: ApplePayConfiguration
    }

    private struct State {
        var businesses: [Business]
        var publicURL: String?
    }

    private let state: Mutex<State>

    init(_ businesses: [BusinessConfiguration] = [], publicURL: String? = nil) {
        state = Mutex(State(businesses: Self.settings(of: businesses), publicURL: publicURL))
    }

    /// The settings of a business; nil when it takes no payments.
    subscript(business: BusinessID) -> Business? {
        state.withLock { state in state.businesses.first { $0.id == business } }
    }

    /// The settings of the business with this slug; nil when it takes no payments.
    func business(slug: String) -> Business? {
        state.withLock { state in state.businesses.first { $0.slug == slug } }
    }

    /// All businesses that take payments.
    var all: [Business] { state.withLock(\.businesses) }

    /// Whether the server decrypts the payment tokens of any business.
    var decryptsTokens: Bool {
        state.withLock { state in state.businesses.contains { $0.applePay.decryption != nil } }
    }

    /// Returns the base URL of the endpoints with this key; nil when the server's own address is not known.
    func base(of key: String) -> String? { state.withLock(\.publicURL).map { "\($0)/pay/\(key)" } }

    /// Returns the file with which Apple verifies a domain; `host` is the value of the field `Host`, with or
    /// without a port.
    func domainAssociation(host: String) -> [UInt8]? {
        let name = host.prefix { $0 != ":" }.lowercased()
        return state.withLock { state in
            state.businesses.lazy.map(\.applePay)
                .first { $0.merchant.domainName == name && $0.domainAssociation != nil }?.domainAssociation
        }
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
            business.applePay.map {
                Business(id: business.businessID, slug: business.slug, name: business.name, applePay: $0)
            }
        }
    }
}
