import BalloonJSON
package import BalloonPOSIX

/// A merchant session as Apple's service issued it: its bytes are sent unchanged, because they are signed.
package struct IssuedSession: Hashable, Sendable {
    /// The maximum bytes of a session.
    package static let maximumBytes = 65_536
    /// The remaining lifetime below which the server requests a new session before it sends the message.
    package static let minimumRest = Duration.seconds(60)

    /// The JSON object.
    package let json: [UInt8]
    /// The member `expiresAt`.
    package let expiresAt: Timestamp

    /// Reads the answer of Apple's service to the merchant whose identifier has the SHA-256 `identifierHash`.
    ///
    /// Throws `MerchantSessionFailure.malformed`, `MerchantSessionFailure.otherMerchant`, or
    /// `MerchantSessionFailure.expired`.
    package init(
        _ answer: [UInt8], identifierHash: String, at now: Timestamp
    ) throws(MerchantSessionFailure) {
        guard let session = Self(json: answer) else { throw .malformed }
        // Apple's sessions contain the SHA-256 of the merchant identifier, in upper-case or lower-case
        // hexadecimal.
        let merchant = (try? JSONDocument(answer))?.root["merchantIdentifier"]?.string
        guard let merchant, merchant.lowercased() == identifierHash else { throw .otherMerchant }
        guard session.expiresAt > now else { throw .expired }
        self = session
    }

    /// Reads a stored session without checking its merchant and its expiry.
    ///
    /// Returns nil unless the session is a JSON object with `expiresAt` in milliseconds since 1970.
    package init?(json: [UInt8]) {
        // Drop the parser's error: the caller only needs to know that there is no usable session.
        guard json.count <= Self.maximumBytes, let root = (try? JSONDocument(json))?.root,
            root.kind == .object, let expiresAt = root["expiresAt"]?.int,
            (0...Self.latest).contains(expiresAt)
        else { return nil }
        self.json = Array(root.text)
        self.expiresAt = Timestamp(milliseconds: Int64(expiresAt))
    }

    /// Whether less than `minimumRest` remains until the expiry, too little time for a customer to pay.
    package func needsRenewal(at now: Timestamp) -> Bool { now.advanced(by: Self.minimumRest) > expiresAt }

    /// The end of the year 9999 in milliseconds since 1970; a larger `expiresAt` is refused, so that no sum
    /// overflows.
    private static let latest = 253_402_300_799_999
}
