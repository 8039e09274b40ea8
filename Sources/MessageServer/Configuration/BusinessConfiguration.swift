package import BusinessMessages
package import Logging

/// One business and who answers for it.
///
/// ```json
/// { "businessID": "5a6b7c8d-0000-4000-8000-000000000002", "name": "Sam's Fish", "handler": { "builtin": "demo" } }
/// ```
///
/// All three must be there; `fallback`, `concurrency`, `deadlineSeconds`, `logLevel` and `quota` may be. The slug is the file's name.
package struct BusinessConfiguration: Sendable {
    /// The business's name in commands and logs: 1 to 64 of `a-z`, `0-9` and `-`.
    package var slug: String
    /// The identifier from Apple Business Register, as it stands in `destination-id`.
    package var businessID: BusinessID
    /// What people call the business.
    package var name: String
    /// Who answers its customers.
    package var handler: HandlerBinding
    /// Who answers while the handler is down; nobody when nil, and its events wait.
    package var fallback: FallbackConfiguration?
    /// From which level on its handler logs; the server's when nil.
    package var logLevel: Logger.Level?
    /// The folder of the business's file, to which paths in it are relative.
    package var directory = "."
    /// How many of its deliveries may be with the handler at once; the server's limit when nil.
    package var concurrency: Int?
    /// How long its handler may take for one delivery, JSON: `deadlineSeconds`; the server's limit when nil.
    package var deadline: Duration?

    /// How many of its messages may wait to be finished, JSON: `quota.pendingMessages`; a quarter of
    /// ``StoreSettings/maximumPendingDeliveries`` when nil.
    package var maximumPendingMessages: Int?

    /// Takes values that were checked.
    package init(slug: String, businessID: BusinessID, name: String, handler: HandlerBinding) {
        self.slug = slug
        self.businessID = businessID
        self.name = name
        self.handler = handler
    }
}
