/// The identity of a reply: the record of the message that caused it, and its index.
///
/// The index counts the replies to that message. A proactive message counts as the only reply to itself. In
/// text, such as `57.1`, replies are counted from 1.
package struct ReplyID: Hashable, Sendable {
    /// The record number of the event that the reply answers, or of the proactive message.
    package let record: UInt64
    /// The reply's index in the decided outcome, from 0.
    package let index: Int

    /// Creates the identity of the reply with this index.
    package init(record: UInt64, index: Int) {
        self.record = record
        self.index = index
    }

    /// Parses text such as `57.1`; nil for any other spelling, such as leading zeros.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let record = UInt64(parts[0]), let place = Int(parts[1]), place > 0,
            "\(record).\(place)" == text
        else { return nil }
        self.init(record: record, index: place - 1)
    }
}

extension ReplyID: CustomStringConvertible {
    /// The identity as text, such as `57.1`.
    package var description: String { "\(record).\(index + 1)" }
}

extension ReplyID: Comparable {
    /// Orders replies by the record of the message that caused them, then by index.
    package static func < (left: ReplyID, right: ReplyID) -> Bool {
        (left.record, left.index) < (right.record, right.index)
    }
}
