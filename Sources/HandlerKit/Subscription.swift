public import BusinessMessages

/// An event type that a handler can subscribe to.
public enum Subscription: Hashable, Sendable {
    /// Customers' messages of a kind.
    case kind(Kind)
    /// The handler's replies that did not reach the customer.
    ///
    /// A handler must name it: `"*"` means every kind of message, and a failed reply is not a message.
    case replyFailed

    /// The messages of every kind, which `"*"` stands for.
    public static let everyKind = Set(Kind.allCases.map(Subscription.kind))

    /// All subscriptions, in the order in which pages and commands list them.
    public static let all = Kind.allCases.map(Subscription.kind) + [.replyFailed]

    private static let replyFailedName = "replyFailed"

    /// Creates the subscription that has this name in configurations and handlers; nil for an unknown name.
    public init?(name: String) {
        if name == Self.replyFailedName {
            self = .replyFailed
        } else if let kind = Kind(rawValue: name) {
            self = .kind(kind)
        } else {
            return nil
        }
    }

    /// The name that configurations and handlers use: the kind's, or `replyFailed`.
    public var name: String {
        switch self {
        case .kind(let kind): kind.rawValue
        case .replyFailed: Self.replyFailedName
        }
    }
}
