import BalloonJSON
package import BalloonPOSIX

/// A visitor's unverified statement on the landing page that a business of Apple Business Register wants this
/// server.
///
/// `{"business":"…","name":"…","logo":"https://…","contact":"…","receivedAt":"2026-11-21T10:00:00.123Z"}`.
/// The server verifies no member, and never fetches the logo's address.
package struct OnboardingClaim: Sendable, Equatable {
    /// The reason why an entry is refused.
    enum Defect: Error, Equatable {
        /// A field of this name is missing or empty.
        case missing(String)
        /// A field of this name is repeated, too long, or has control characters.
        case malformed(String)
    }

    /// The business's identifier in the form of the configuration, without the prefix `urn:biz:`.
    package private(set) var business = ""
    /// The business's name; empty when Apple sent none, as for internal test accounts.
    package private(set) var name = ""
    /// The address of the business's logo, as text; empty when Apple sent none.
    package private(set) var logo = ""
    /// The e-mail address or telephone number that the person wrote into the form of the landing page; empty until the form is sent.
    package private(set) var contact = ""
    /// The time at which the server received the claim.
    package private(set) var receivedAt = Timestamp(milliseconds: 0)

    /// The maximum bytes of an identifier.
    static let maximumIDBytes = 128
    /// The maximum bytes of a logo's address.
    static let maximumLogoBytes = 2048
    /// The maximum bytes of a name and of a contact.
    static let maximumTextBytes = 200

    /// Checks the fields of the page's query or, for `isForm`, of its form.
    ///
    /// Only a form must have a contact. `values` returns all values of the field with the given name.
    init(isForm: Bool, at now: Timestamp, _ values: (String) -> [String]) throws(Defect) {
        let id = try Self.field("id", maximumBytes: Self.maximumIDBytes, values("id"))
        // Apple's own forms write the identifier with and without this prefix; webhook messages never have
        // the prefix.
        let prefix = "urn:biz:"
        let business = id.lowercased().hasPrefix(prefix) ? String(id.dropFirst(prefix.count)) : id
        guard !business.isEmpty else { throw .missing("id") }
        guard business.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { throw .malformed("id") }
        self.business = business
        name = try Self.field("name", maximumBytes: Self.maximumTextBytes, values("name"))
        logo = try Self.field("logo", maximumBytes: Self.maximumLogoBytes, values("logo"))
        contact =
            isForm ? try Self.field("contact", maximumBytes: Self.maximumTextBytes, values("contact")) : ""
        if isForm, contact.allSatisfy(\.isWhitespace) { throw .missing("contact") }
        receivedAt = now
    }

    private static func field(
        _ name: String, maximumBytes: Int, _ values: [String]
    ) throws(Defect) -> String {
        let value = values.first ?? ""
        guard values.count <= 1, value.utf8.count <= maximumBytes,
            !value.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { throw .malformed(name) }
        return value
    }

    private init() {}

    /// The content of a claim's file.
    package static let form = JSONObjectForm(
        OnboardingClaim(),
        [
            JSONField("business", \.business, .text), JSONField("name", \.name, .text, missing: ""),
            JSONField("logo", \.logo, .text, missing: ""),
            JSONField("contact", \.contact, .text, missing: ""),
            JSONField("receivedAt", \.receivedAt, .time),
        ])

    /// Returns the content of a configuration file of the business, for the folder `businesses`.
    ///
    /// The file names no handler, so the server only records the business's messages. A claim without a name
    /// gets `slug` as its name. Nil when `slug` is not 1 to 64 of `a-z`, `0-9` and `-`.
    package func businessFile(slug: String) -> String? {
        // The error is dropped, because its text is about the name of a file.
        guard (try? SettingFormat.slug(slug)) != nil else { return nil }
        func text(_ value: String) -> String { String(decoding: JSONForm.text.json(value), as: UTF8.self) }
        return """
            {
                "businessID": \(text(business)),
                "name": \(text(name.isEmpty ? slug : name)),
                "handler": { "builtin": "none" }
            }

            """
    }
}
