package import BusinessMessages
package import Logging
import MessageStore

/// One business with its handler.
///
/// ```json
/// { "businessID": "5a6b7c8d-0000-4000-8000-000000000002", "name": "Sam's Fish", "handler": { "builtin": "demo" } }
/// ```
///
/// These three members are required; `fallback`, `people`, `notices`, `texts`, `authentication`, `applePay`, `concurrency`,
/// `deadlineSeconds`, `logLevel`, `newAfterHours`, `replies`, `links`, `disclosure`, `terms`, `firstAnswer`, `quota` and `retention` are optional. The slug is the file's name.
package struct BusinessConfiguration: Sendable {
    /// The business's name in commands and logs: 1 to 64 of `a-z`, `0-9` and `-`.
    package var slug: String
    /// The identifier from Apple Business Register, as in `destination-id`.
    package var businessID: BusinessID
    /// The business's name for people.
    package var name: String
    /// The handler of its events.
    package var handler: HandlerBinding
    /// The answers while the handler is down; when nil, the business's events wait.
    package var fallback: FallbackConfiguration?
    /// The people who answer instead of the handler; when nil, a hand-off to a person only ends the event.
    package var people: PeopleConfiguration?
    /// The consent of its customers to later messages; when nil, programs may write at any time.
    package var notices: NoticesConfiguration?
    /// The provider at which its customers sign in; when nil, its sign-in messages are refused.
    package var authentication: AuthenticationConfiguration?
    /// The merchant that takes its payments with Apple Pay; when nil, its payment requests are refused.
    package var applePay: ApplePayConfiguration?
    /// The log level of its handler; the server's level when nil.
    package var logLevel: Logger.Level?
    /// The folder of the business's file, to which paths in it are relative.
    package var directory = "."
    /// The maximum number of concurrent deliveries to the handler; the server's limit when nil.
    package var concurrency: Int?
    /// The time limit of the handler for one delivery, JSON: `deadlineSeconds`; the server's limit when nil.
    package var deadline: Duration?

    /// The maximum number of its unfinished messages, JSON: `quota.pendingMessages`; a quarter of
    /// ``StoreSettings/maximumPendingDeliveries`` when nil.
    package var maximumPendingMessages: Int?

    /// The server's own messages at the start of a conversation.
    package var opening = OpeningConfiguration()
    /// How its automatic messages are sent.
    package var replies = RepliesConfiguration()
    /// Which web addresses become links, and what they show.
    package var links = LinksConfiguration()
    /// The silence of both sides after which its customer's message begins a new conversation, JSON:
    /// `newAfterHours`.
    package var silence = NewConversation.silence

    /// How long its messages and dead letters are kept.
    package var retention = RetentionPeriods()

    /// Creates a configuration from checked values.
    package init(slug: String, businessID: BusinessID, name: String, handler: HandlerBinding) {
        self.slug = slug
        self.businessID = businessID
        self.name = name
        self.handler = handler
    }
}
