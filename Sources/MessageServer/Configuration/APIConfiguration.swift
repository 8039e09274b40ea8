package import MessageStore

/// The settings of the business API.
///
/// ```json
/// {
///   "tokens": [{ "name": "crm", "sha256": "5e88…", "businesses": ["fish"], "may": ["read", "send"] }],
///   "origins": ["https://desk.example.com"],
///   "hosts": ["balloon.example.com"],
///   "requestsPerMinute": 600,
///   "inbox": true
/// }
/// ```
///
/// The API is served by the admin listener while there is a token. A reload applies all of these settings at once.
package struct APIConfiguration: Sendable, Equatable {
    /// The programs that may call the API; no two have the same name or hash.
    package var tokens: [APIToken] = []
    /// The origins whose web pages may call the API, as browsers send them in `Origin`.
    package var origins: [String] = []
    /// Names of this server in `Host`, besides the admin listener's own address; in lower case.
    package var hosts: [String] = []
    /// The maximum number of requests of one token in a minute.
    package var requestsPerMinute = 600
    /// Whether the admin listener serves the inbox for people at `/inbox`; JSON: `inbox`.
    package var hasInbox = false

    /// The maximum number of tokens: each one is compared with the token of every request.
    static let maximumTokens = 256

    /// Creates settings without tokens.
    package init() {}
}

/// A program that may call the business API.
package struct APIToken: Sendable, Hashable {
    /// The name in logs: 1 to 64 of `a-z`, `0-9` and `-`.
    package var name: String
    /// The SHA-256 of the token; JSON: `sha256`, in hexadecimal.
    package var digest: [UInt8]
    /// The slugs of the businesses that the token may name; nil, or no `businesses` in JSON, means all of them.
    package var businesses: Set<String>?
    /// The rights of the token; JSON: `may`.
    package var rights: Set<APIRight>
    /// The only person for whom the token acts; nil for a program that may name every person.
    package var person: Person?

    /// Creates a token from checked values.
    package init(
        name: String, digest: [UInt8], businesses: Set<String>? = nil, rights: Set<APIRight>,
        person: Person? = nil
    ) {
        self.name = name
        self.digest = digest
        self.businesses = businesses
        self.rights = rights
        self.person = person
    }

    /// Whether the token may change what another person has: every token without a person, and those with the right.
    var supervises: Bool { person == nil || rights.contains(.supervise) }

    /// The beginning of every token, by which scanners for leaked secrets recognize it.
    package static let prefix = "bln_"
}

/// A right of a token; each operation of the business API requires one right.
package enum APIRight: String, Sendable, Hashable, CaseIterable {
    /// The right to read conversations and deliveries, and to follow events.
    case read
    /// The right to send messages and typing, to upload files, and to assign conversations to persons.
    case send
    /// The right to restart handlers, and to replay, retry and drop deliveries and replies.
    case operate
    /// For a token with a person: the right to assign others, to take conversations, and to open and close the help desk.
    case supervise
}
