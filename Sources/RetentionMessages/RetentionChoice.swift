public import BalloonJSON

/// The decision of a rule or a handler, from which the server makes the ``RetentionAnswer`` with a signed
/// offer.
///
/// ```json
/// {"message": "stay"}
/// {"alternateProduct": {"message": "switch", "product": "com.example.yearly"}}
/// {"promotionalOffer": {"message": "offer", "offer": "half-price", "product": "com.example.monthly"}}
/// {"advancedCommerceInfo": {}}
/// ```
///
/// `message` is either the name of a message in the app's folder or its identifier.
public enum RetentionChoice: Hashable, Sendable {
    /// An offer to sign.
    public struct Offer: Hashable, Sendable {
        /// The identifier of the offer in App Store Connect.
        public var identifier: String
        /// The product of the offer; nil for the one in the request.
        public var product: ProductID?
        /// Whether the server signs the offer with version 1, for apps that need this version, instead of
        /// version 2.
        public var usesVersion1: Bool
        /// The `appAccountToken` of the purchase; only version 1 uses it.
        public var appAccountToken: RetentionID?

        /// Creates an offer.
        public init(
            _ identifier: String, product: ProductID? = nil, usesVersion1: Bool = false,
            appAccountToken: RetentionID? = nil
        ) {
            self.identifier = identifier
            self.product = product
            self.usesVersion1 = usesVersion1
            self.appAccountToken = appAccountToken
        }
    }

    /// Shows a message.
    case message(String)
    /// Shows a message without image and bullet points, and proposes another product.
    case alternateProduct(message: String, product: ProductID, billingPlanType: String? = nil)
    /// Shows a message without image and bullet points, together with an offer.
    case promotionalOffer(message: String, Offer)
    /// The content of `advancedCommerceInfo`, a JSON object as text.
    case advancedCommerce([UInt8])

    /// The message by its name or identifier; nil for `advancedCommerce`.
    public var message: String? {
        switch self {
        case .message(let name), .alternateProduct(let name, _, _), .promotionalOffer(let name, _): name
        case .advancedCommerce: nil
        }
    }

    /// Whether the message must be without image and bullet points.
    public var needsPlainMessage: Bool {
        switch self {
        case .message, .advancedCommerce: false
        case .alternateProduct, .promotionalOffer: true
        }
    }

    /// The decision as JSON, in the format that ``read(_:)`` reads.
    public var json: [UInt8] {
        switch self {
        case .message(let name): JSONWriter.object(["message": name])
        case .alternateProduct(let message, let product, let plan):
            JSONWriter.object([
                "alternateProduct": JSONObject([
                    "message": message, "product": product.text, "billingPlanType": plan,
                ])
            ])
        case .promotionalOffer(let message, let offer):
            JSONWriter.object([
                "promotionalOffer": JSONObject([
                    "message": message, "offer": offer.identifier, "product": offer.product?.text,
                    "version": offer.usesVersion1 ? 1 : nil, "appAccountToken": offer.appAccountToken?.text,
                ])
            ])
        case .advancedCommerce(let json): JSONWriter.object(["advancedCommerceInfo": JSONText(json)])
        }
    }

    /// Reads a decision, which must have exactly one of the four members; returns nil and all problems when
    /// it is invalid.
    public static func read(_ value: JSONValue) -> (choice: RetentionChoice?, problems: [RetentionProblem]) {
        var reader = RetentionReader()
        let choice = read(value, &reader)
        return (reader.problems.isEmpty ? choice : nil, reader.problems)
    }

    static func read(_ value: JSONValue, _ reader: inout RetentionReader) -> RetentionChoice? {
        let names = ["message", "alternateProduct", "promotionalOffer", "advancedCommerceInfo"]
        guard reader.isObject(value, required: [], optional: names) else { return nil }
        guard value.count == 1, let (name, member) = value.members.first(where: { names.contains($0.key) })
        else {
            reader.report(
                .form, at: value, found: "\(value.count) members",
                allowed: "exactly one of " + names.joined(separator: ", "))
            return nil
        }
        switch name {
        case "message": return reader.text(name, of: value).map { .message($0) }
        case "alternateProduct":
            guard reader.isObject(member, required: ["message", "product"], optional: ["billingPlanType"])
            else { return nil }
            let plan = reader.text("billingPlanType", of: member)
            guard let message = reader.text("message", of: member),
                let product = reader.product("product", of: member)
            else { return nil }
            return .alternateProduct(message: message, product: product, billingPlanType: plan)
        case "promotionalOffer": return offer(member, &reader)
        default:
            guard member.kind == .object else {
                reader.report(.form, at: member, found: "no object", allowed: "an object")
                return nil
            }
            return .advancedCommerce(Array(member.text))
        }
    }

    private static func offer(_ value: JSONValue, _ reader: inout RetentionReader) -> RetentionChoice? {
        guard
            reader.isObject(
                value, required: ["message", "offer"], optional: ["product", "version", "appAccountToken"])
        else { return nil }
        let product = reader.product("product", of: value)
        var account: RetentionID?
        if let member = value["appAccountToken"] {
            account = member.string.flatMap(RetentionID.init)
            if account == nil { reader.report(.form, at: member, found: "no UUID", allowed: "a UUID") }
        }
        let version = value["version"]?.int
        if let member = value["version"], version != 1, version != 2 {
            reader.report(.form, at: member, found: "another version", allowed: "1 or 2")
        }
        guard let message = reader.text("message", of: value), let offer = reader.text("offer", of: value)
        else { return nil }
        return .promotionalOffer(
            message: message,
            Offer(offer, product: product, usesVersion1: version == 1, appAccountToken: account))
    }
}

extension RetentionReader {
    mutating func product(_ name: String, of value: JSONValue) -> ProductID? {
        guard let member = value[name], let text = text(name, of: value) else { return nil }
        guard let product = ProductID(text) else {
            report(.product, at: member, found: "other characters", allowed: "letters, digits, . - and _")
            return nil
        }
        return product
    }

    mutating func locale(_ name: String, of value: JSONValue) -> StoreLocale? {
        guard let member = value[name], let text = text(name, of: value) else { return nil }
        guard let locale = StoreLocale(text) else {
            report(.locale, at: member, found: "another code", allowed: "a short code such as en-US")
            return nil
        }
        return locale
    }
}
