import BalloonHTTP
import BalloonPOSIX
import BalloonWire
import BusinessMessages
import MessageStore
import SignIn

/// The provider's question whether a key of version 1 belongs to an open sign-in: `/auth/SLUG/key`.
///
/// The device adds the key and an identifier of the customer to the provider's address, so that the provider can ask the
/// business about them. Apple MSP API, "Validate the Public Key".
struct SignInAudit: Sendable {
    let requests: OpenRequests
    let settings: SignInSettings

    /// The question, from a query or a form.
    struct Question: Sendable {
        let key: String
        let customer: String?

        /// Parses `responseEncryptionKey` or `response_encryption_key`, and `userHandle`, which may be missing; nil for a
        /// malformed text, and when a name is repeated.
        init?(_ text: ArraySlice<UInt8>) {
            // A malformed query names no key.
            guard let query = try? HTTPQuery(text) else { return nil }
            let keys =
                query.values(of: "responseEncryptionKey") + query.values(of: "response_encryption_key")
            let handles = query.values(of: "userHandle") + query.values(of: "user_handle")
            guard keys.count == 1, let key = keys.first, handles.count <= 1 else { return nil }
            self.key = Self.restored(key)
            customer = handles.first.map(Self.restored)
        }

        /// A plus sign of Base64 that was not encoded arrives as a blank.
        private static func restored(_ text: String) -> String {
            String(text.map { $0 == " " ? "+" : $0 })
        }
    }

    /// Whether `authorization`, the value of the field, has the token of the business with this slug.
    ///
    /// An unknown business and one without a token are refused alike. The digests are compared in constant time.
    func isAuthorized(_ authorization: ArraySlice<UInt8>?, slug: String) -> Bool {
        let scheme = "bearer "
        guard let authorization,
            String(decoding: authorization.prefix(scheme.utf8.count), as: UTF8.self).lowercased() == scheme
        else { return false }
        let token = settings.business(slug: slug)?.authentication.auditToken
        let given = SHA256.hash(authorization.dropFirst(scheme.utf8.count).drop { $0 == 0x20 })
        let isEqual = constantTimeEquals(SHA256.hash(token?.bytes ?? []), given)
        return token != nil && isEqual
    }

    /// Whether the key is that of an open request of the business with this slug, and of the customer if one is named.
    ///
    /// Reads one file. Throws the disk's errors.
    func isValid(_ question: Question, slug: String) throws(StoreError) -> Bool {
        guard let business = settings.business(slug: slug),
            let request = try requests.find(RequestName(of: question.key)),
            request.kind == .signIn, request.business == business.id, request.isUsable(at: .now()),
            let payload = ClassicSignInPayload(request.payload), payload.key == question.key
        else { return false }
        return question.customer.map { $0 == request.customer.rawValue } ?? true
    }
}
