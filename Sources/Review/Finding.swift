/// The statement of a check about one point.
package struct Finding: Sendable {
    /// The weight of a finding, the lightest first.
    package enum Verdict: String, CaseIterable, Comparable, Sendable {
        case ok
        case notTested = "not tested"
        case look
        case advice
        case objection

        package static func < (left: Verdict, right: Verdict) -> Bool {
            (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
        }
    }

    /// A turn of a transcript that shows the point.
    package struct Quote: Sendable, Equatable {
        /// The scene's name.
        package let scene: String
        /// The index of the turn.
        package let turn: Int
    }

    /// The weight.
    package let verdict: Verdict
    /// The fault, and how to correct it.
    package let words: String
    /// The evidence.
    package let quotes: [Quote]

    /// A finding that blocks a launch.
    static func objection(_ words: String, _ quotes: [Quote] = []) -> Finding {
        Finding(verdict: .objection, words: words, quotes: quotes)
    }

    /// A finding that Apple only advises about, or that rests on vendors.
    static func advice(_ words: String, _ quotes: [Quote] = []) -> Finding {
        Finding(verdict: .advice, words: words, quotes: quotes)
    }

    /// A point that only a person can judge.
    static func look(_ words: String, _ quotes: [Quote] = []) -> Finding {
        Finding(verdict: .look, words: words, quotes: quotes)
    }

    /// A point that was not judged, and what the review needs for it.
    static func notTested(_ words: String) -> Finding {
        Finding(verdict: .notTested, words: words, quotes: [])
    }
}
