/// The reason why an outbound message cannot be created: Apple would answer it with 400.
///
/// The author of the message must correct it.
public enum CompositionError: Error, Equatable, Sendable {
    /// A quick reply has `count` items instead of two to five; Apple refuses other counts.
    case itemCount(Int)
    /// A quick reply has no summary.
    case emptySummary
    /// The item at this position, from 0, has no identifier.
    case emptyIdentifier(item: Int)
    /// The item at this position, from 0, has no title.
    case emptyTitle(item: Int)
    /// The item at this position, from 0, repeats the identifier of an earlier item, so the answer would be
    /// ambiguous.
    case repeatedIdentifier(item: Int)
}
