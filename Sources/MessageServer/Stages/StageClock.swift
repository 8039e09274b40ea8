import BalloonPOSIX

/// Measures the duration of a message's stages.
struct StageClock: Sendable {
    private let received = SystemClock.nanoseconds()
    private var begun: UInt64
    private(set) var stage = StageEvent.Stage.read

    init() { begun = received }

    mutating func begin(_ stage: StageEvent.Stage) {
        self.stage = stage
        begun = SystemClock.nanoseconds()
    }

    var sinceBegun: UInt64 { SystemClock.nanoseconds() - begun }
    var sinceReceived: UInt64 { SystemClock.nanoseconds() - received }
}
