/// Computes how long the server delays its 200 to a sender while a business has a backlog of deliveries.
///
/// The delay slows down senders that wait for each answer. It is zero up to ``maximumUnpaced`` unfinished deliveries
/// of the business, not counting parked ones. Above that number it grows linearly, and reaches ``maximumPause`` at
/// twice the number. While the handler finishes no delivery, for example because it is down, there is no delay.
struct AnswerPace: Sendable {
    var maximumUnpaced = 4096
    var maximumPause = Duration.milliseconds(50)
    /// A handler counts as working for this long after it has finished a delivery.
    var workingTime = Duration.seconds(1)

    /// The delay for a business with this number of unfinished deliveries.
    func pause(behind backlog: Int) -> Duration {
        guard backlog > maximumUnpaced else { return .zero }
        return maximumPause * min(backlog - maximumUnpaced, maximumUnpaced) / maximumUnpaced
    }
}
