import BalloonHTTP
import BalloonPOSIX
import BalloonWire
import BusinessMessages
import MessageStore
import SignIn

/// Answers the provider's question whether a key of version 1 belongs to an open sign-in: `/auth/SLUG/key`.
///
/// The device adds the key and an identifier of the customer to the provider's address. The provider can then
/// ask the business about both. Apple MSP API, "Validate the Public Key".
struct SignInAudit: Sendable {
    let requests: OpenRequests
    let settings: SignInSettings

    /// The provider's question, read from a query or a form.
    struct Question: Sendable {
        let key: String
        let customer: String?

        /// Parses `responseEncryptionKey` or `response_encryption_key`, and `userHandle` or `user_handle`.
        ///
        /// The handle may be missing. Nil for a malformed text, and when the key or the handle occurs twice.
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

        /// Restores each plus sign of a Base64 text that was sent unescaped and was therefore decoded as a
        /// space.
        private static func restored(_ text: String) -> String {
            String(text.map { $0 == " " ? "+" : $0 })
        }
    }

    /// Whether `authorization`, the value of the header field, has the token of the business with this slug.
    ///
    /// A refusal is the same for an unknown business and for a business without a token. The digests are
    /// compared in constant time.
    func isAuthorized(_ authorization: ArraySlice<UInt8>?, slug: String) -> Bool {
        guard let given = authorization.flatMap(bearerToken) else { return false }
        let token = settings.business(slug: slug)?.section.auditToken
        let isEqual = constantTimeEquals(SHA256.hash(token?.bytes ?? []), SHA256.hash(given))
        return token != nil && isEqual
    }

    /// Whether the key is that of an open request of the business with this slug, and of the customer if one is named.
    ///
    /// Reads one file. Throws the disk's errors.
    func isValid(_ question: Question, slug: String) throws(StoreError) -> Bool {
        guard let business = settings.business(slug: slug) else { return false }
        let name = RequestName(of: question.key)
        let claim = RequestClaim(
            .classicSignIn, named: name, of: business.id, question.customer.map { CustomerID($0) })
        guard let request = try requests.find(name), claim.agrees(with: request),
            request.isUsable(at: .now()), let payload = ClassicSignInPayload(request.payload)
        else { return false }
        return payload.key == question.key
    }
}
