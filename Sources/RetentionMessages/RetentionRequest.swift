public import BalloonJSON

/// The App Store's question which message a subscriber should see.
///
/// The claims of the verified token:
///
/// ```json
/// {"originalTransactionId": "99371282", "appAppleId": 1234567890, "productId": "com.example.monthly",
///  "userLocale": "en-US", "requestIdentifier": "a1b2c3d4-…", "environment": "Production", "signedDate": 1790000000000}
/// ```
public struct RetentionRequest: Hashable, Sendable {
    /// The identifier of the subscription's first purchase; it is personal data and never logged.
    public let originalTransactionID: String
    /// The app's Apple ID; nil or 0 in some requests of the sandbox.
    public let appAppleID: Int?
    /// The product that the subscriber is about to cancel.
    public let productID: ProductID
    /// The language that the subscriber reads; rules with a locale do not apply to an unfamiliar one.
    public let locale: StoreLocale
    /// The identifier of the question; a repeated question has the same identifier.
    public let requestIdentifier: RetentionID
    /// The environment.
    public let environment: RetentionEnvironment
    /// The time of the signature, in milliseconds since 1970.
    public let signedMilliseconds: Int

    /// Creates a question.
    public init(
        originalTransactionID: String, appAppleID: Int?, productID: ProductID, locale: StoreLocale,
        requestIdentifier: RetentionID, environment: RetentionEnvironment, signedMilliseconds: Int
    ) {
        self.originalTransactionID = originalTransactionID
        self.appAppleID = appAppleID
        self.productID = productID
        self.locale = locale
        self.requestIdentifier = requestIdentifier
        self.environment = environment
        self.signedMilliseconds = signedMilliseconds
    }

    /// The reason why claims are not a valid question; the sender is at fault.
    public enum Defect: Error, Hashable, Sendable {
        /// The claims are not a JSON object.
        case notAnObject
        /// A member is missing or has the wrong type or format.
        case member(Member)
    }

    /// The members of the claims.
    public enum Member: String, Hashable, Sendable, CaseIterable {
        case originalTransactionId, appAppleId, productId, userLocale, requestIdentifier, environment,
            signedDate
    }

    /// Reads the claims; throws the first ``Defect``.
    ///
    /// An environment other than the two known ones is a defect. A locale in another format than the documented one is
    /// not, because the subscriber would then see no message at all.
    public init(claims: JSONValue) throws(Defect) {
        guard claims.kind == .object else { throw .notAnObject }
        func text(_ member: Member) throws(Defect) -> String {
            guard let text = claims[member.rawValue]?.string, (1...256).contains(text.utf8.count) else {
                throw .member(member)
            }
            return text
        }
        func value<Value>(_ member: Member, _ read: (String) -> Value?) throws(Defect) -> Value {
            guard let value = read(try text(member)) else { throw .member(member) }
            return value
        }
        environment = try value(.environment) { RetentionEnvironment(rawValue: $0) }
        let date = claims[Member.signedDate.rawValue]?.int
        guard let date, date > 0 else { throw .member(.signedDate) }
        signedMilliseconds = date
        originalTransactionID = try text(.originalTransactionId)
        productID = try value(.productId) { ProductID($0) }
        locale = StoreLocale(inQuestion: try text(.userLocale))
        requestIdentifier = try value(.requestIdentifier) { RetentionID($0) }
        guard let app = claims[Member.appAppleId.rawValue], !app.isNull else {
            appAppleID = nil
            return
        }
        guard let number = app.int, number >= 0 else { throw .member(.appAppleId) }
        appAppleID = number
    }

    /// The claims as JSON.
    public var json: [UInt8] {
        JSONWriter.object([
            "originalTransactionId": originalTransactionID, "appAppleId": appAppleID,
            "productId": productID.text, "userLocale": locale.code,
            "requestIdentifier": requestIdentifier.text, "environment": environment.rawValue,
            "signedDate": signedMilliseconds,
        ])
    }
}
