import HandlerKit

/// A fallback that answers every message with a fixed text while the business's handler is down.
struct CannedAnswer: EventHandler {
    let text: String

    /// Every subscription except typing and closing, which need no answer.
    var subscriptions: Set<Subscription> {
        Subscription.everyKind.subtracting([.kind(.typingStart), .kind(.typingEnd), .kind(.close)])
    }
    var maximumInFlight: Int? { nil }
    var downSince: ContinuousClock.Instant? { nil }
    var report: HandlerReport { HandlerReport(health: .ready) }

    func waitUntilReady() async -> Bool { !Task.isCancelled }
    func stopWaiting() {}
    func restart() {}

    /// Replies with the text, unless it is already the last message that was sent to the customer.
    func handle(_ context: Context) throws -> Outcome {
        let last = try context.conversation.read().last { $0.direction == .outbound }
        return last?.message["body"]?.string == text ? .handled : .reply(text)
    }
}
