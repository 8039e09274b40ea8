public import BalloonJSON

/// Apple Pay's signed proof that a payment request comes from the merchant.
///
/// The server sends it unchanged, because a change would break the signature.
///
/// ```json
/// {"epochTimestamp": 1525722894057, "expiresAt": 1525730094057, "merchantSessionIdentifier": "PSH4…",
///  "nonce": "fe72cd0f", "merchantIdentifier": "302B…", "displayName": "Sam's Fish", "signature": "3080…",
///  "initiative": "messaging", "initiativeContext": "https://…", "signedFields": ["merchantIdentifier", …]}
/// ```
/// Apple MSP API, "Payment.MerchantSession Dictionary". Each payment request needs a new session, which expires after
/// five minutes. Both times are in milliseconds, although Apple's table says seconds.
public struct MerchantSession: Hashable, Sendable {
    /// The object as it is sent.
    public let json: [UInt8]

    /// Wraps Apple Pay's answer unchanged; `nil` when it is not an object.
    public init?(_ value: JSONValue) {
        guard let json = value.objectText else { return nil }
        self.json = json
    }

    /// Creates a session from its fields.
    public init(
        merchantSessionIdentifier: String, merchantIdentifier: String, displayName: String,
        initiativeContext: String, epochTimestamp: Int, expiresAt: Int, nonce: String, signature: String,
        signedFields: [String] = []
    ) {
        json = JSONWriter.object([
            "epochTimestamp": epochTimestamp, "expiresAt": expiresAt,
            "merchantSessionIdentifier": merchantSessionIdentifier, "nonce": nonce,
            "merchantIdentifier": merchantIdentifier, "displayName": displayName, "signature": signature,
            "initiative": "messaging", "initiativeContext": initiativeContext,
            "signedFields": signedFields.unlessEmpty,
        ])
    }

    /// The time after which Apple Pay refuses the session, in milliseconds since 1970; nil when `expiresAt`
    /// is missing.
    ///
    /// Apple Pay sends milliseconds, but Apple's table says seconds. A number below 100,000,000,000 therefore
    /// counts as seconds.
    package var expiresAtMilliseconds: Int? {
        // Parsing does not fail: every initializer wrote the JSON itself or checked it.
        guard let time = (try? JSONDocument(json))?.root["expiresAt"]?.scalarInt, time >= 0 else {
            return nil
        }
        return time < 100_000_000_000 ? time.multipliedReportingOverflow(by: 1000).partialValue : time
    }
}
