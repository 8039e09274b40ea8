public import HandlerKit
import Logging

/// The App Store's question before a cancellation, for the tests of a handler.
///
/// ```swift
/// let choice = try await TestQuestion(product: "com.example.monthly", locale: "de-DE").ask(Loyalty())
/// ```
public struct TestQuestion: Sendable {
    /// The reason why a question is impossible: the App Store cannot send such a name.
    public enum Malformed: Error, Hashable, Sendable {
        /// The product has other characters than letters, digits, `.`, `-` and `_`.
        case product(String)
        /// The locale is not a locale short code of the App Store, such as `en-US`.
        case locale(String)
    }

    private let request: RetentionRequest
    private let time: Duration

    /// Creates a question of the sandbox environment; throws ``Malformed``.
    ///
    /// The handler must answer within `time`.
    public init(
        product: String, locale: String = "en-US", subscription: String = "1",
        within time: Duration = .milliseconds(450)
    ) throws(Malformed) {
        guard let productID = ProductID(product) else { throw .product(product) }
        guard let storeLocale = StoreLocale(locale) else { throw .locale(locale) }
        // Never fails: the text has the form of a UUID.
        guard let identifier = RetentionID("00000000-0000-4000-8000-000000000001") else {
            throw .product(product)
        }
        request = RetentionRequest(
            originalTransactionID: subscription, appAppleID: 1, productID: productID, locale: storeLocale,
            requestIdentifier: identifier, environment: .sandbox, signedMilliseconds: 1)
        self.time = time
    }

    /// Asks the handler and returns its choice; nil means that the app's rule file decides.
    ///
    /// Errors of the handler are rethrown.
    public func ask(_ handler: any RetentionHandler) async throws -> RetentionChoice? {
        try await handler.retention(
            request,
            RetentionContext(app: "app", deadline: .now + time, logger: Logger(label: "handler")))
    }
}
