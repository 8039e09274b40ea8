/// What is known of a decided delivery while it is leased.
struct DecidedDelivery: Sendable {
    let outcome: DecidedOutcome
    /// The record that says so.
    let decision: UInt64
    /// The replies that have an end in the journal.
    var ends: [Int: DeliveryRecords.ReplyEnd]
    /// The replies whose lines were written in this life.
    var written: Set<Int> = []
}
