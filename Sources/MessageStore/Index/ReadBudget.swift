/// The limits of one request that reads files, and the bytes that it has read.
struct ReadBudget: Sendable {
    static let time = Duration.milliseconds(250)

    var maximumBytes = 64 << 20
    var deadline = ContinuousClock.now + time
    var readBytes = 0

    var isOver: Bool { readBytes >= maximumBytes || isLate }
    var isLate: Bool { .now >= deadline }
}
