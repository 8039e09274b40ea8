public import Logging
public import RetentionMessages

/// A handler that chooses the message which a subscriber sees before a cancellation.
///
/// ```swift
/// struct Loyalty: RetentionHandler {
///     func retention(_ request: RetentionRequest, _ context: RetentionContext) async throws -> RetentionChoice? {
///         request.locale.code == "de-DE" ? .message("bleib") : nil
///     }
/// }
/// ```
public protocol RetentionHandler: Handler {
    /// Chooses an answer to the App Store's question; nil leaves the decision to the app's rule file.
    ///
    /// The rule file decides too when this method throws, returns after ``RetentionContext/deadline``, or names a
    /// message that the app's folder lacks, that Apple has not approved, or that an offer may not have. The server
    /// signs the offer. Calls overlap.
    func retention(
        _ request: RetentionRequest, _ context: RetentionContext
    ) async throws -> RetentionChoice?
}

/// The facts beside the App Store's question.
public struct RetentionContext: Sendable {
    /// The app's name in commands and logs.
    public let app: String
    /// The time after which the rule file decides and the task is cancelled.
    public let deadline: ContinuousClock.Instant
    /// A logger that names the app.
    public let logger: Logger

    /// Creates a context, in a server or in a handler's tests.
    public init(app: String, deadline: ContinuousClock.Instant, logger: Logger) {
        self.app = app
        self.deadline = deadline
        self.logger = logger
    }
}
