/// Computes how long the server delays its 200 to a sender while a business has a backlog of deliveries.
///
/// The delay slows down a sender that waits for each answer before it sends the next message. The delay
/// depends on the number of unfinished deliveries of the business, without parked ones. It is zero up to
/// ``maximumUnpaced`` deliveries, grows linearly above, and reaches ``maximumPause`` at twice that number.
/// While the handler finishes no delivery, for example because it is down, there is no delay.
struct AnswerPace: Sendable {
    var maximumUnpaced = 4096
    var maximumPause = Duration.milliseconds(50)
    /// How long a handler counts as working after it has finished a delivery.
    var workingTime = Duration.seconds(1)

    /// Returns the delay for a business with this number of unfinished deliveries.
    func pause(behind backlog: Int) -> Duration {
        guard backlog > maximumUnpaced else { return .zero }
        return maximumPause * min(backlog - maximumUnpaced, maximumUnpaced) / maximumUnpaced
    }
}
