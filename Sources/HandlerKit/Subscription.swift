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

    /// The subscriptions to every kind of message, which `"*"` stands for.
    public static let everyKind = Set(Kind.allCases.map(Subscription.kind))

    /// All subscriptions, in the order in which pages and commands list them.
    public static let all = Kind.allCases.map(Subscription.kind) + [.replyFailed]

    private static let replyFailedName = "replyFailed"

    /// Creates the subscription with this name in configurations and in the protocol; nil for an unknown
    /// name.
    public init?(name: String) {
        if name == Self.replyFailedName {
            self = .replyFailed
        } else if let kind = Kind(rawValue: name) {
            self = .kind(kind)
        } else {
            return nil
        }
    }

    /// The name in configurations and in the protocol: the name of the kind, or `replyFailed`.
    public var name: String {
        switch self {
        case .kind(let kind): kind.rawValue
        case .replyFailed: Self.replyFailedName
        }
    }
}
