import BalloonMetrics
import BalloonPOSIX
import BusinessMessages
import GatewayClient
import Logging
import MessageStore

/// Fetches the payload behind the reference in a message.
struct PayloadFetcher: Sendable {
    let gateway: GatewayClient
    let logger: Logger
    /// The number of references that expired before their download.
    let expired = Counter()
    /// The time limit of one payload, including all attempts.
    var deadline = Duration.seconds(20)

    init(_ gateway: GatewayClient, logger: Logger) { (self.gateway, self.logger) = (gateway, logger) }

    /// Returns the message with its payload, or why it has none; nil when the task is cancelled.
    func fetch(
        _ message: [UInt8], _ id: MessageID, of business: BusinessID, receivedAt: Timestamp
    ) async -> Resolution? {
        guard let message = try? JSONDocument(message, limits: .stored),
            let reference = PayloadReference(message: message)
        else { return .failed(reason: "the reference lacks url, owner or key") }
        do {
            let decoded = try await keepAsking(until: .now + deadline) { rest async throws(GatewayError) in
                try await gateway.resolve(reference, for: business, within: rest)
            }
            guard let document = try? JSONDocument(decoded, limits: .stored),
                let resolved = resolving(message: message, with: document)
            else { return .failed(reason: "the decoded payload is not a JSON object") }
            return .resolved(message: resolved)
        } catch {
            if Task.isCancelled { return nil }
            // After a retryable error, all retries until the deadline have failed, and by then the reference has
            // expired.
            guard error.isAboutExpiry || error.isRetryable else { return .failed(reason: "\(error)") }
            // The customer's choice is lost. When the server is too slow in general, later choices will be
            // lost too.
            logger.error(
                "payload reference expired before its download; message content lost",
                metadata: [
                    "business": "\(business.rawValue)", "message": "\(id.rawValue)",
                    "age_ms": "\(Timestamp.now().milliseconds - receivedAt.milliseconds)",
                    "expired": "\(expired.add())",
                ])
            return .failed(reason: Resolution.expiredPrefix + "\(error)")
        }
    }
}
