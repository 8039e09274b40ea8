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
    /// The kind, once that was found out.
    package private(set) var kind: Kind?
    /// What became of it.
    package private(set) var status = Status.pending
    /// Why, where somebody said so.
    package private(set) var reason: String?
    /// How many attempts ended without an outcome.
    package private(set) var attempts = 0
    /// When the next attempt of one that is parked is due.
    package private(set) var next: Timestamp?
    /// The message, with its payload in place when that was resolved.
    package private(set) var message: JSONValue
    /// The kind of a message that went out unasked; nil for what a customer sent.
    package let outboundKind: Kind?
    let hasOpenReference: Bool
    let attributes: ReceivedAttributes

    /// Whether somebody must decide what is to be done.
    package var isDeadLetter: Bool { status == .failed || status == .rejected }
    /// Whether it came to an end.
    package var isFinished: Bool { status != .pending && status != .parked }

    /// Reads a record of type message; nil when it is another.
    init?(_ root: JSONValue, record: UInt64) {
        guard root["type"]?.equals("message") ?? false, let business = root["business"]?.string,
            let customer = root["customer"]?.string, let id = root["id"]?.string,
            let message = root["message"]
        else { return nil }
        self.record = record
        at = root["at"]?.string.flatMap { Timestamp(rfc3339: $0) } ?? Timestamp(milliseconds: 0)
        self.business = BusinessID(business)
        self.customer = CustomerID(customer)
        self.id = MessageID(id)
        self.message = message
        replayOf = root["replayOf"]?.int.map { UInt64($0) }
        outboundKind = root["outbound"]?.string.map { Kind(rawValue: $0) ?? .unrecognized }
        kind = outboundKind
        hasOpenReference = root["reference"]?.bool ?? false
        attributes = ReceivedAttributes(root["attributes"])
    }

    /// Takes in a later record about it.
    mutating func apply(_ root: JSONValue) {
        guard let type = root["type"] else { return }
        if let name = root["kind"]?.string { kind = Kind(rawValue: name) }
        if type.equals("finished") {
            status = root["result"]?.string.flatMap(Status.init) ?? .handled
            reason = root["reason"]?.string
            next = nil
        } else if type.equals("attempt") {
            attempts += 1
            let isParked = root["parked"]?.bool ?? false
            status = isParked ? .parked : .pending
            next = root["next"]?.string.flatMap { Timestamp(rfc3339: $0) }
        } else if type.equals("resolved") {
            message = root["message"] ?? message
        } else if type.equals("dropped"), isDeadLetter {
            status = .dropped
        }
    }

    /// Notes that it is handed over again.
    mutating func noteReplay() { if isDeadLetter { status = .retried } }

    /// The message as it is handed over again.
    ///
    /// A payload whose reference was never resolved is fetched once more.
    var replay: ReceivedMessage {
        let isOpen = hasOpenReference && message["interactiveDataRef"] != nil
        return ReceivedMessage(
            business: business, customer: customer, id: id, attributes: attributes,
            message: Array(message.text), hasPayloadReference: isOpen, outboundKind: outboundKind)
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
