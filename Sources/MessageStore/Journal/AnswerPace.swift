/// The delay of a 200 while a business has a backlog, which slows down senders that wait for each answer.
///
/// There is no delay up to ``maximumUnpaced`` unfinished deliveries of a business, parked ones excluded.
/// Above that it grows to ``maximumPause`` at twice the number. Senders that do not wait for answers are
/// delayed by at most that. While a handler is down, there is no delay.
struct AnswerPace: Sendable {
    var maximumUnpaced = 4096
    var maximumPause = Duration.milliseconds(50)
    /// A business's handler counts as working while a delivery was finished within this time.
    var workingTime = Duration.seconds(1)

    /// The delay for this backlog.
    func pause(behind backlog: Int) -> Duration {
        guard backlog > maximumUnpaced else { return .zero }
        return maximumPause * min(backlog - maximumUnpaced, maximumUnpaced) / maximumUnpaced
    }
}
