import BalloonPOSIX
import RetentionMessages

/// The answers of the last ten minutes; a repeated question gets the same bytes as the first time.
///
/// Invariant: at most `maximumAnswers` are kept; the oldest is dropped first.
struct RepeatedAnswers {
    /// The identity of a question.
    struct Key: Hashable {
        let slug: String
        let environment: RetentionEnvironment
        let identifier: RetentionID
    }

    static let age = Duration.seconds(600)
    let maximumAnswers: Int
    private var answers: [Key: [UInt8]] = [:]
    private var order = Deque<(key: Key, at: Duration)>()

    init(maximumAnswers: Int = 100_000) { self.maximumAnswers = maximumAnswers }

    /// The number of kept answers.
    var count: Int { answers.count }

    /// The answer to this question within the last ten minutes; nil without one.
    mutating func answer(to key: Key, at now: Duration) -> [UInt8]? {
        removeOld(at: now)
        return answers[key]
    }

    /// Keeps an answer unless the question has one already, and returns the kept one.
    mutating func keep(_ answer: [UInt8], to key: Key, at now: Duration) -> [UInt8] {
        removeOld(at: now)
        if let first = answers[key] { return first }
        if answers.count >= maximumAnswers, let oldest = order.popFirst() { answers[oldest.key] = nil }
        answers[key] = answer
        order.append((key, now))
        return answer
    }

    private mutating func removeOld(at now: Duration) {
        while let oldest = order.first, now - oldest.at >= Self.age {
            _ = order.popFirst()
            answers[oldest.key] = nil
        }
    }
}
