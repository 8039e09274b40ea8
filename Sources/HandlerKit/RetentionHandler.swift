public import Logging
public import RetentionMessages

/// A handler that chooses the message that a subscriber sees before cancelling a subscription.
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
    /// The rule file decides when this method throws or returns after ``RetentionContext/deadline``. It
    /// decides, too, when the named message is missing from the app's folder, is not approved by Apple, or
    /// may not be combined with an offer. The server signs the offer. Several calls may run at the same time.
    func retention(
        _ request: RetentionRequest, _ context: RetentionContext
    ) async throws -> RetentionChoice?
}

/// The information about a question of the App Store that is not part of the question.
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
