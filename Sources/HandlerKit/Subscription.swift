public import BusinessMessages

/// An event type that a handler can subscribe to.
public enum Subscription: Hashable, Sendable {
    /// Customers' messages of a kind.
    case kind(Kind)
    /// The handler's replies that did not reach the customer.
    ///
    /// A handler must list this subscription by its name: `"*"` means every kind of message, and a failed
    /// reply is not a message.
    case replyFailed
    /// The customer's consent to later messages, given or withdrawn.
    ///
    /// A handler must list this subscription by its name too.
    case consent

    /// The subscriptions to every kind of message, which `"*"` stands for.
    public static let everyKind = Set(Kind.allCases.map(Subscription.kind))

    /// All subscriptions, in the order in which pages and commands list them.
    public static let all = Kind.allCases.map(Subscription.kind) + [.replyFailed, .consent]

    /// Creates the subscription with this name in configurations and in the protocol; nil for an unknown
    /// name.
    public init?(name: String) {
        guard let found = Self.all.first(where: { $0.name == name }) else { return nil }
        self = found
    }

    /// The name in configurations and in the protocol: the name of the kind, `replyFailed` or `consent`.
    public var name: String {
        switch self {
        case .kind(let kind): kind.rawValue
        case .replyFailed: "replyFailed"
        case .consent: "consent"
        }
    }
}
