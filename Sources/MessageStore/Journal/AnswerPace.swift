import BalloonPOSIX

/// Work of a business that waits: unfinished deliveries, or decided replies that are not sent.
struct Backlog: Sendable {
    var count = 0
    /// The time at which the last of them ended, in nanoseconds of a monotonic clock.
    var endedAt: UInt64?
}

/// Computes how long the server delays its 200 to a sender while a business has a backlog.
///
/// The delay slows down a sender that waits for each answer before it sends the next message. It
/// depends on the number of unfinished deliveries of the business, without parked ones, and of its queued replies. It is zero up to
/// ``maximumUnpaced`` of them, grows linearly above, and reaches ``maximumPause`` at twice that number.
/// Deliveries do not count while none ends, for example because the handler is down; nor do replies while none ends.
struct AnswerPace: Sendable {
    var maximumUnpaced = 512
    var maximumPause = Duration.milliseconds(50)
    /// How long a backlog counts after one of it has ended.
    var workingTime = Duration.seconds(1)

    /// Returns the delay for a business with these deliveries and replies.
    func pause(behind deliveries: Backlog, _ replies: Backlog, at now: UInt64) -> Duration {
        let backlog = counted(deliveries, at: now) + counted(replies, at: now)
        guard backlog > maximumUnpaced else { return .zero }
        return maximumPause * min(backlog - maximumUnpaced, maximumUnpaced) / maximumUnpaced
    }

    private func counted(_ backlog: Backlog, at now: UInt64) -> Int {
        guard let endedAt = backlog.endedAt, endedAt + UInt64(max(0, workingTime.wholeNanoseconds)) > now
        else { return 0 }
        return backlog.count
    }
}
