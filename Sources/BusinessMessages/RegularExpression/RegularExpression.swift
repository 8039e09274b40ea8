/// A regular expression from outside, parsed and matched within fixed limits.
///
/// Unlike Swift's `Regex`, whose parser overflows the stack on 5,000 brackets and whose matcher takes
/// exponential time for `(a+)+$`, this type bounds the length, the nesting and the work. The syntax is the common
/// part of ICU's, Swift's and JavaScript's. Devices use a dialect that Apple does not name.
package struct RegularExpression: Sendable {
    /// Whether a text matches.
    package enum Match: Sendable, Equatable {
        /// The text matches.
        case found
        /// The text does not match.
        case absent
        /// The work exceeds ``maximumSteps``, or the expression has a back reference, an atomic group, a
        /// possessive quantifier or a property that is not supported.
        case undecided
    }

    /// The maximum length of an expression in bytes.
    package static let maximumBytes = 2048
    /// The maximum nesting of groups and character classes, and the maximum number of operators in a class.
    package static let maximumDepth = 32
    /// The maximum count in a quantifier such as `{2,5}`.
    package static let maximumCount = 100_000
    /// The maximum length of a text in Unicode scalars; the match of a longer text is undecided.
    package static let maximumScalars = 100_000
    /// The maximum number of steps of one match, about 50 ms.
    package static let maximumSteps = 4_000_000

    private let root: ExpressionNode

    /// Parses an expression; nil when it is invalid or exceeds a limit.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.maximumBytes else { return nil }
        var parser = ExpressionParser(text)
        do throws(InvalidExpression) { root = try parser.wholeExpression() } catch { return nil }
    }

    /// Whether the whole text matches.
    package func matchesWhole(_ text: String) -> Match {
        match(text) { matcher throws(UndecidedMatch) in
            try matcher.ends(of: root, from: PositionSet(matcher.count, only: 0)).contains(matcher.count - 1)
        }
    }

    /// Whether a part of the text matches.
    package func occurs(in text: String) -> Match {
        match(text) { matcher throws(UndecidedMatch) in
            try !matcher.ends(of: root, from: PositionSet(all: matcher.count)).isEmpty
        }
    }

    private func match(
        _ text: String, _ body: (inout ExpressionMatcher) throws(UndecidedMatch) -> Bool
    ) -> Match {
        guard text.utf8.count <= 4 * Self.maximumScalars else { return .undecided }
        let scalars = Array(text.unicodeScalars)
        guard scalars.count <= Self.maximumScalars else { return .undecided }
        var matcher = ExpressionMatcher(scalars, maximumSteps: Self.maximumSteps)
        do throws(UndecidedMatch) { return try body(&matcher) ? .found : .absent } catch {
            return .undecided
        }
    }
}

/// A part of a regular expression; the parser bounds the nesting.
indirect enum ExpressionNode: Sendable {
    case scalar(ScalarSet)
    case sequence([ExpressionNode])
    case alternatives([ExpressionNode])
    case repetition(ExpressionNode, minimum: Int, maximum: Int?)
    /// A condition on the text after a position, or before it.
    case look(ExpressionNode, isBehind: Bool, isNegated: Bool)
    case anchor(ExpressionAnchor)
    /// A valid part that the matcher cannot decide.
    case unsupported
}

/// A condition on a position.
enum ExpressionAnchor: Sendable {
    case start, end, lineStart, lineEnd
    /// The end of the text, or the line break at its end.
    case lastLineEnd
    case wordBoundary, noWordBoundary
}
