/// The messages of a journal that have no end yet, while it is read in order.
struct OpenMessages {
    private var open: [UInt64: RecoveredJournal.Recovered] = [:]

    /// Those whose lines are known, in the order of their records.
    var decided: [RecoveredJournal.Recovered] {
        open.values.filter { $0.kind != nil }.sorted { $0.pending.record < $1.pending.record }
    }

    /// Takes in a record; returns the message that it finishes.
    mutating func apply(
        _ record: JournalRecord, number: UInt64, at location: RecordLocation
    ) -> RecoveredJournal.Recovered? {
        switch record {
        case .message(let message):
            open[number] = RecoveredJournal.Recovered(message, record: number, at: location)
        case .resolved(let subject), .reply(let subject), .files(let subject):
            open[subject]?.pending.related.append(location)
        case .outcome(let subject, let kind):
            open[subject]?.pending.related.append(location)
            open[subject]?.kind = kind
        case .finished(let finished):
            guard var message = open.removeValue(forKey: finished.of) else { return nil }
            message.kind = finished.kind ?? message.kind
            message.original = finished.original
            return message
        case .attempt, .dropped, .carried, .checkpoint, .unsynced, .segment, .other: break
        }
        return nil
    }
}

extension RecoveredJournal.Recovered {
    /// The lines that its conversation must have; none when it was never recorded there.
    func entries(from reader: SegmentReader) throws(StoreError) -> [ConversationEntry] {
        guard let kind else { return [] }
        return try DeliveryRecords(pending, from: reader).entries(
            record: pending.record, kind: kind, conversation: conversation, repeating: original)
    }
}
