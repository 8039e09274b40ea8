import BusinessMessages
import HandlerKit

/// A text that answers whatever a customer says while the business's handler is down.
struct CannedAnswer: EventHandler {
    let text: String

    /// What deserves an answer: who types or closes said nothing.
    var subscriptions: Set<Subscription> {
        Subscription.everyKind.subtracting([.kind(.typingStart), .kind(.typingEnd), .kind(.close)])
    }
    var maximumInFlight: Int? { nil }
    var downSince: ContinuousClock.Instant? { nil }
    var report: HandlerReport { HandlerReport(health: .ready) }

    func waitUntilReady() async -> Bool { !Task.isCancelled }
    func stopWaiting() {}
    func restart() {}

    /// Says it once, until something else was said to the customer.
    func handle(_ context: Context) throws -> Outcome {
        let last = try context.conversation.read().last { $0.direction == .outbound }
        return last?.message["body"]?.string == text ? .handled : .reply(text)
    }
}
