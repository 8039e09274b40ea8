import BalloonJSON
package import BalloonPOSIX

/// A merchant session as Apple's service issued it: its bytes are sent unchanged, because they are signed.
package struct IssuedSession: Hashable, Sendable {
    /// The maximum bytes of a session.
    package static let maximumBytes = 65_536
    /// The remaining life below which a session is replaced before it is sent.
    package static let minimumRest = Duration.seconds(60)

    /// The JSON object.
    package let json: [UInt8]
    /// The member `expiresAt`.
    package let expiresAt: Timestamp

    /// Reads an answer for the merchant whose identifier has this hash.
    ///
    /// Throws `MerchantSessionFailure.malformed`, `MerchantSessionFailure.otherMerchant`, and
    /// `MerchantSessionFailure.expired`.
    package init(
        _ answer: [UInt8], identifierHash: String, at now: Timestamp
    ) throws(MerchantSessionFailure) {
        guard let session = Self(json: answer) else { throw .malformed }
        // The hash, as Apple's sessions have it (protocol.md 5.5); another spelling of it is the same merchant.
        let merchant = (try? JSONDocument(answer))?.root["merchantIdentifier"]?.string
        guard let merchant, merchant.lowercased() == identifierHash else { throw .otherMerchant }
        guard session.expiresAt > now else { throw .expired }
        self = session
    }

    /// Reads a session that was checked before; nil unless it is an object with `expiresAt` in milliseconds.
    package init?(json: [UInt8]) {
        // Every failure of the parser means the same: no session.
        guard json.count <= Self.maximumBytes, let root = (try? JSONDocument(json))?.root,
            root.kind == .object, let expiresAt = root["expiresAt"]?.int,
            (0...Self.latest).contains(expiresAt)
        else { return nil }
        self.json = Array(root.text)
        self.expiresAt = Timestamp(milliseconds: Int64(expiresAt))
    }

    /// Whether too little time remains for the customer.
    package func needsRenewal(at now: Timestamp) -> Bool { now.advanced(by: Self.minimumRest) > expiresAt }

    /// The year 9999, so that no sum overflows.
    private static let latest = 253_402_300_799_999
}
