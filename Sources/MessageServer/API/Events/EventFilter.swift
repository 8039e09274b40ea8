import BusinessMessages
import MessageStore

/// The events that a follower wants, and may see.
struct EventFilter: Sendable, Hashable {
    let token: APIToken
    /// The slugs of the wanted businesses; nil for all of the token.
    let businesses: Set<String>?
    /// The wanted types; nil for all.
    let types: Set<String>?

    /// Whether an event has a wanted type.
    func wants(_ event: StoreEvent) -> Bool { types?.contains(event.name.rawValue) ?? true }

    /// The wanted businesses among those of the token, with their slugs.
    func slugs(_ access: APIAccess) -> [BusinessID: String] {
        var slugs: [BusinessID: String] = [:]
        for business in access.businesses(of: token) where businesses?.contains(business.slug) ?? true {
            slugs[business.id] = business.slug
        }
        return slugs
    }
}
