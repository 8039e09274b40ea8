/// How long a sender waits for the answer about a message that is durable, so that senders who wait for one answer before
/// they send more bring no more than is handled.
///
/// No time up to ``maximumUnpaced`` deliveries of a business that are neither finished nor parked; from there on longer and
/// longer, up to ``maximumPause`` at twice as many. Senders with a clock of their own are held up no longer than that, and
/// not at all while a handler is down.
struct AnswerPace: Sendable {
    var maximumUnpaced = 4096
    var maximumPause = Duration.milliseconds(50)

    /// The pause behind so many deliveries.
    func pause(behind backlog: Int) -> Duration {
        guard backlog > maximumUnpaced else { return .zero }
        return maximumPause * min(backlog - maximumUnpaced, maximumUnpaced) / maximumUnpaced
    }
}
