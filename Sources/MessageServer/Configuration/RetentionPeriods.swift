import BalloonPOSIX
import BusinessMessages

/// How long a business keeps what is stored, JSON: `retention` in the business's file.
///
/// `{"messagesDays": 730, "attachmentsDays": 365, "deadLettersDays": 30}`. Each period is at least 4 days, because the
/// journal keeps every message for up to 72 hours.
package struct RetentionPeriods: Hashable, Sendable {
    /// The days for which the lines of conversations are kept; nil for ever.
    package var messagesDays: Int?
    /// The days for which a file is kept after the business's last message with it; nil uses the server's period.
    package var attachmentsDays: Int?
    /// The days after which a dead letter is dropped if no operator has decided about it.
    package var deadLettersDays = 30

    private static let days = 4...36_500

    /// Creates the default periods.
    package init() {}

    /// Reads the object `retention`.
    static func read(_ reader: inout ObjectReader) -> RetentionPeriods {
        var periods = RetentionPeriods()
        periods.messagesDays = reader.integer("messagesDays", in: days)
        periods.attachmentsDays = reader.integer("attachmentsDays", in: days)
        reader.set(&periods.deadLettersDays, "deadLettersDays", in: days)
        return periods
    }
}

extension CurrentConfiguration {
    /// The days for which each business keeps its messages, without the businesses that keep them for ever.
    var messagesDays: [BusinessID: Int] { retentionPeriods.compactMapValues(\.messagesDays) }

    /// The days for which attachments are kept, of the businesses that have a period of their own.
    var attachmentsDays: [BusinessID: Int] { retentionPeriods.compactMapValues(\.attachmentsDays) }

    /// The days after which dead letters are dropped.
    var deadLettersDays: [BusinessID: Int] { retentionPeriods.mapValues(\.deadLettersDays) }

    private var retentionPeriods: [BusinessID: RetentionPeriods] {
        Dictionary(value.businesses.map { ($0.businessID, $0.retention) }) { first, _ in first }
    }
}

extension [BusinessConfiguration] {
    /// Whether any of the businesses removes old messages; the removal needs the index of conversations.
    var removeMessages: Bool { contains { $0.retention.messagesDays != nil } }
}
