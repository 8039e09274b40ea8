import BusinessMessages
import HandlerKit

/// A fixed text as the answer to every message while the business's handler is down.
struct CannedAnswer: EventHandler {
    let text: String

    /// The kinds that need an answer: typing and closing do not.
    var subscriptions: Set<Subscription> {
        Subscription.everyKind.subtracting([.kind(.typingStart), .kind(.typingEnd), .kind(.close)])
    }
    var maximumInFlight: Int? { nil }
    var downSince: ContinuousClock.Instant? { nil }
    var report: HandlerReport { HandlerReport(health: .ready) }

    func waitUntilReady() async -> Bool { !Task.isCancelled }
    func stopWaiting() {}
    func restart() {}

    /// Sends the text once, until another message was sent to the customer.
    func handle(_ context: Context) throws -> Outcome {
        let last = try context.conversation.read().last { $0.direction == .outbound }
        return last?.message["body"]?.string == text ? .handled : .reply(text)
    }
}
