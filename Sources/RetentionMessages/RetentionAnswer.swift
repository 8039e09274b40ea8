import BalloonJSON

/// The signed offer in an answer.
public enum SignedOffer: Hashable, Sendable {
    /// A signature of version 2, which is a signed token.
    case version2(String)
    /// A signature of version 1, with the values that were signed.
    case version1(Version1)

    /// The object `promotionalOfferSignatureV1`.
    public struct Version1: Hashable, Sendable {
        /// The signature in Base64.
        public var encodedSignature: String
        /// The product of the offer.
        public var productID: ProductID
        /// A UUID in lower case, new for each signature.
        public var nonce: RetentionID
        /// The time of the signature, in milliseconds since 1970.
        public var timestamp: Int
        /// The identifier of the key that made the signature.
        public var keyID: String
        /// The identifier of the offer.
        public var offerIdentifier: String
        /// The `appAccountToken` of the purchase; nil when the purchase had none.
        public var appAccountToken: RetentionID?

        /// Creates the object.
        public init(
            encodedSignature: String, productID: ProductID, nonce: RetentionID, timestamp: Int, keyID: String,
            offerIdentifier: String, appAccountToken: RetentionID?
        ) {
            self.encodedSignature = encodedSignature
            self.productID = productID
            self.nonce = nonce
            self.timestamp = timestamp
            self.keyID = keyID
            self.offerIdentifier = offerIdentifier
            self.appAccountToken = appAccountToken
        }
    }
}

/// The answer to the App Store's question, in exactly one of four shapes.
public enum RetentionAnswer: Hashable, Sendable {
    /// Shows a message: `{"message": {"messageIdentifier": …}}`.
    case message(RetentionID)
    /// Proposes to switch to another product: `{"alternateProduct": {"messageIdentifier": …, "productId": …}}`.
    case alternateProduct(RetentionID, ProductID, billingPlanType: String?)
    /// Makes an offer: `{"promotionalOffer": {"messageIdentifier": …, "promotionalOfferSignatureV2": …}}`.
    case promotionalOffer(RetentionID, SignedOffer)
    /// Passes on the content of `{"advancedCommerceInfo": …}`, a JSON object as text, which the server does
    /// not interpret.
    case advancedCommerce([UInt8])

    /// The JSON that the App Store gets.
    public var json: [UInt8] {
        switch self {
        case .message(let message):
            JSONWriter.object(["message": JSONObject(["messageIdentifier": message.text])])
        case .alternateProduct(let message, let product, let plan):
            JSONWriter.object([
                "alternateProduct": JSONObject([
                    "messageIdentifier": message.text, "productId": product.text, "billingPlanType": plan,
                ])
            ])
        case .promotionalOffer(let message, let offer):
            JSONWriter.object([
                "promotionalOffer": JSONObject([
                    "messageIdentifier": message.text, "promotionalOfferSignatureV2": offer.version2,
                    "promotionalOfferSignatureV1": offer.version1,
                ])
            ])
        case .advancedCommerce(let json): JSONWriter.object(["advancedCommerceInfo": JSONText(json)])
        }
    }
}

extension SignedOffer {
    fileprivate var version2: String? { if case .version2(let token) = self { token } else { nil } }

    fileprivate var version1: JSONObject? {
        guard case .version1(let parts) = self else { return nil }
        return [
            "encodedSignature": parts.encodedSignature, "productId": parts.productID.text,
            "nonce": parts.nonce.text, "timestamp": parts.timestamp, "keyId": parts.keyID,
            "offerIdentifier": parts.offerIdentifier, "appAccountToken": parts.appAccountToken?.text,
        ]
    }
}
