import BalloonJSON
package import BalloonPOSIX
package import BusinessMessages

/// A message that came in, and what became of it, as the journal tells.
package struct JournalEvent: Sendable {
    /// What became of a message.
    package enum Status: String, CaseIterable, Sendable {
        /// It waits, or is being worked on.
        case pending
        /// It failed and waits outside its conversation's order for the next attempt.
        case parked
        /// A handler took it and its replies are settled.
        case handled
        /// The business has no handler for its kind.
        case unhandled
        /// The handler did not want it: a dead letter.
        case rejected
        /// A person took over.
        case handedOff
        /// It was given up: a dead letter.
        case failed
        /// It said once more what another had said moments before.
        case repeated
        /// It was a dead letter, and somebody decided that nothing is to be done.
        case dropped
        /// It was a dead letter, and is handed over again as another record.
        case retried

        /// Whether somebody must decide what is to be done.
        package var isDeadLetter: Bool { self == .failed || self == .rejected }
    }

    /// The number of its record.
    package let record: UInt64
    /// When it came in; for a replay, when that was asked for.
    package let at: Timestamp
    /// The business it is for.
    package let business: BusinessID
    /// The customer it is from.
    package let customer: CustomerID
    /// The message's id.
    package let id: MessageID
    /// The record whose message this hands over again.
    package let replayOf: UInt64?
    /// The record as which it was handed over again last; nil when it never was.
    package let replayedAs: UInt64?
    /// The kind, once that was found out.
    package let kind: Kind?
    /// What became of it.
    package private(set) var status: Status
    /// Why, where somebody said so.
    package let reason: String?
    /// How many attempts ended without an outcome.
    package let attempts: Int
    /// When the next attempt of one that is parked is due.
    package let next: Timestamp?
    /// The message, with its payload in place when that was resolved.
    package let message: JSONValue
    /// The kind of a message that went out unasked; nil for what a customer sent.
    package let outboundKind: Kind?
    /// Whether a person, not a program, wrote what went out unasked.
    let isFromPerson: Bool
    /// Whether it came with a payload reference.
    let hasReference: Bool
    let attributes: ReceivedAttributes

    /// Whether somebody must decide what is to be done.
    package var isDeadLetter: Bool { status.isDeadLetter }
    /// Whether it came to an end.
    package var isFinished: Bool { status != .pending && status != .parked }

    /// Reads what a trace leads to; throws when a line cannot be read, or is no message.
    init(_ trace: EventTrace, record: UInt64, from reader: SegmentReader) throws(StoreError) {
        let root = try reader.line(at: trace.location).root
        guard let business = root["business"]?.string, let customer = root["customer"]?.string,
            let id = root["id"]?.string, let message = root["message"]
        else { throw .unknownRecord(record) }
        self.record = record
        at = root.timestamp("at") ?? Timestamp(milliseconds: 0)
        self.business = BusinessID(business)
        self.customer = CustomerID(customer)
        self.id = MessageID(id)
        let resolved = try trace.resolved.map { location throws(StoreError) in
            try reader.line(at: location).root["message"]
        }
        self.message = resolved.flatMap(\.self) ?? message
        replayOf = root.record("replayOf")
        replayedAs = trace.replayedAs
        let outboundKind = root["outbound"]?.string.map { Kind(rawValue: $0) ?? .unrecognized }
        self.outboundKind = outboundKind
        isFromPerson = root["person"]?.bool ?? false
        hasReference = root["reference"]?.bool ?? false
        attributes = ReceivedAttributes(root["attributes"])
        status = trace.status
        if trace.isCarried {
            kind = root["kind"]?.string.flatMap(Kind.init)
            reason = root["reason"]?.string
            attempts = root["attempts"]?.int ?? 0
            next = nil
            // What was dropped or retried since says so; else it is what it was.
            if status == .pending { status = root["result"]?.string.flatMap(Status.init) ?? .failed }
        } else {
            kind = trace.kind ?? outboundKind
            reason = trace.reason
            attempts = Int(trace.attempts)
            next = trace.next
        }
    }

    /// The message as it is handed over again.
    ///
    /// A payload whose reference was never resolved is fetched once more.
    var replay: ReceivedMessage {
        let isOpen = hasReference && message["interactiveDataRef"] != nil
        return ReceivedMessage(
            business: business, customer: customer, id: id, attributes: attributes,
            message: Array(message.text), hasPayloadReference: isOpen, outboundKind: outboundKind,
            isFromPerson: isFromPerson)
    }
}

/// What the journal says of one message, without its text.
struct EventTrace: Sendable {
    /// Where the message stands.
    let location: RecordLocation
    /// Whether that is where it was carried to.
    let isCarried: Bool
    /// Where it stands with its payload.
    var resolved: RecordLocation?
    var status = JournalEvent.Status.pending
    var kind: Kind?
    var reason: String?
    var attempts: Int32 = 0
    var next: Timestamp?
    /// The record as which it was handed over again last.
    private(set) var replayedAs: UInt64?

    /// Begins with the message's own record, or with what was carried.
    init(_ location: RecordLocation, isCarried: Bool) {
        self.location = location
        self.isCarried = isCarried
    }

    /// Takes in a later record about it.
    mutating func apply(_ record: JournalRecord, at location: RecordLocation) {
        switch record {
        case .resolved: resolved = location
        case .outcome(_, let kind): self.kind = kind ?? self.kind
        case .attempt(let attempt):
            attempts += 1
            status = attempt.isParked ? .parked : .pending
            next = attempt.next
        case .finished(let finished):
            status = finished.result
            reason = finished.reason
            kind = finished.kind ?? kind
            next = nil
        // A carried one that has no other status is a dead letter.
        case .dropped where status.isDeadLetter || isCarried: status = .dropped
        case .message, .reply, .files, .dropped, .carried, .checkpoint, .unsynced, .segment, .other: break
        }
    }

    /// Takes in that it is handed over again as another record.
    mutating func applyReplay(as record: UInt64) {
        replayedAs = record
        if status.isDeadLetter || (isCarried && status == .pending) { status = .retried }
    }
}

extension ReceivedAttributes {
    /// Reads the member of a record.
    init(_ attributes: JSONValue?) {
        self.init(
            capabilityList: attributes?["capabilityList"]?.string, locale: attributes?["locale"]?.string,
            intent: attributes?["intent"]?.string, group: attributes?["group"]?.string)
    }
}
