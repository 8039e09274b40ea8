import MessageStore

/// Chooses the events that a follower asked for and its token may see.
struct EventFilter: Sendable, Hashable {
    let token: APIToken
    /// The slugs of the wanted businesses; nil for all businesses of the token.
    let businesses: Set<String>?
    /// The wanted types; nil for all.
    let types: Set<String>?

    /// Whether the follower gets events of this type of a business.
    func accepts(_ type: String, of slug: String) -> Bool {
        (types?.contains(type) ?? true) && (businesses?.contains(slug) ?? true) && token.mayName(slug)
    }
}
