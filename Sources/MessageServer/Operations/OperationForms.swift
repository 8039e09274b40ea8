package import BusinessMessages
package import MessageStore

/// The things that a change is about: named ones, or those that the server finds, which may be too many for a request.
package enum Chosen<Name: Sendable>: Sendable {
    /// These.
    case named([Name])
    /// All that a selection chooses.
    case selected(MessageSelection)
}

extension JSONField {
    /// A member `name` with a list, or the member `select` with a selection.
    static func chosen<Name>(_ name: String, _ form: JSONForm<Name>) -> JSONField<Chosen<Name>>
    where Root == Chosen<Name> {
        let list = JSONForm.list(form)
        return JSONField<Chosen<Name>>(
            write: { chosen, writer in
                switch chosen {
                case .named(let names):
                    writer.key(name)
                    list.write(names, &writer)
                case .selected(let selection):
                    writer.key("select")
                    MessageSelection.form.form.write(selection, &writer)
                }
            },
            read: { object, chosen in
                if let selection = object["select"].flatMap({ MessageSelection.form.value($0) }) {
                    chosen = .selected(selection)
                } else if let names = object[name].flatMap(list.read) {
                    chosen = .named(names)
                } else {
                    return false
                }
                return true
            })
    }

    /// This member as one of an object that has `Root` in a property.
    func member<Outer>(_ path: MemberPath<Outer, Root>) -> JSONField<Outer> {
        JSONField<Outer>(
            write: { write($0[keyPath: path], &$1) }, read: { read($0, &$1[keyPath: path]) })
    }
}

/// The replies to send again, and the message that replaces the only one.
package struct ReplyRetryRequest: Sendable {
    var chosen: Chosen<ReplyID>
    var edited: DecidedReply?

    /// Creates a request.
    package init(_ chosen: Chosen<ReplyID>, edited: DecidedReply? = nil) {
        self.chosen = chosen
        self.edited = edited
    }

    var isValid: Bool {
        guard edited != nil, case .named(let replies) = chosen else { return true }
        return replies.count == 1
    }
}

/// A reply that a command or an earlier one dropped.
package struct DroppedReply: Sendable {
    /// The reply.
    package var reply: ReplyID
    /// Whether it was dropped before.
    package var isRepetition: Bool
}

/// The change of a conversation's assignment.
package struct AssignmentRequest: Sendable {
    var business: BusinessID
    var customer: CustomerID
    var change: AssignmentChange

    /// Creates a request.
    package init(_ business: BusinessID, _ customer: CustomerID, _ change: AssignmentChange) {
        self.business = business
        self.customer = customer
        self.change = change
    }
}

/// The customers to erase.
package struct ErasureRequest: Sendable {
    /// The maximum number of customers in one request.
    package static let maximumCustomers = 1000

    /// The customers.
    package var customers: Set<CustomerID>
    /// Whether the lines of payments stay.
    package var keepsPayments: Bool

    /// Creates a request.
    package init(_ customers: Set<CustomerID>, keepsPayments: Bool) {
        self.customers = customers
        self.keepsPayments = keepsPayments
    }

    var isValid: Bool {
        (1...Self.maximumCustomers).contains(customers.count) && !customers.contains(CustomerID(""))
    }
}

/// The request or the result of an operation that has none.
package struct Nothing: Sendable {
    /// Creates the value.
    package init() {}
}

extension JSONObjectForm<Nothing> {
    static let nothing = JSONObjectForm(Nothing(), [])
}

extension JSONForm<Nothing> {
    static let nothing = JSONObjectForm.nothing.form
}

extension JSONObjectForm<CustomerErasure.Report> {
    /// `{"conversations":2,"records":57,"contents":1,"unreached":["…"],"linked":["tel:…"]}`.
    package static let erasureReport = JSONObjectForm(
        CustomerErasure.Report(),
        [
            JSONField("conversations", \.conversations, .integer), JSONField("records", \.records, .integer),
            JSONField("contents", \.contents, .integer),
            JSONField("unreached", \.unreached, .list(.text)),
            JSONField("linked", \.linked, .customers, missing: [], omitted: []),
        ])
}

extension JSONForm<Set<CustomerID>> {
    static let customers = JSONForm(
        .list(.text), { Set($0.map { CustomerID($0) }) }, { $0.map(\.rawValue).sorted() })
}

extension JSONForm<NamedState> {
    static let namedState = JSONObjectForm(
        NamedState(record: 0, status: .pending, replay: nil),
        [
            JSONField("record", \.record, .record), JSONField("as", \.status, .word),
            JSONField("replay", optional: \.replay, .record),
        ]
    ).form
}

extension JSONForm<ReplayResult<UInt64>> {
    static let replayed = JSONObjectForm(
        ReplayResult(of: 0, as: 0, isRepetition: false),
        [
            JSONField("record", \.original, .record), JSONField("replay", \.record, .record),
            JSONField(flag: "repetition", \.isRepetition),
        ]
    ).form
}

extension JSONForm<ReplayResult<ReplyID>> {
    static let retriedReply = JSONObjectForm(
        ReplayResult(of: ReplyID(record: 0, index: 0), as: 0, isRepetition: false),
        [
            JSONField("reply", \.original, .reply), JSONField("replay", \.record, .record),
            JSONField(flag: "repetition", \.isRepetition),
        ]
    ).form
}

extension JSONForm<DroppedReply> {
    static let droppedReply = JSONObjectForm(
        DroppedReply(reply: ReplyID(record: 0, index: 0), isRepetition: false),
        [JSONField("reply", \.reply, .reply), JSONField(flag: "repetition", \.isRepetition)]
    ).form
}

extension JSONForm<DecidedReply> {
    static let decidedReply = JSONObjectForm(
        DecidedReply(id: MessageID(""), kind: .unrecognized, message: []),
        [
            JSONField("id", \.id, .message), JSONField("kind", \.kind, .word),
            JSONField("message", \.message, .raw),
        ]
    ).form
}

extension JSONForm<Store.Rebuilt> {
    static let rebuilt = JSONObjectForm(
        Store.Rebuilt(),
        [
            JSONField("restoredLines", \.restoredLines, .integer),
            JSONField("repairedConversations", \.repairedConversations, .integer),
            JSONField("lostLines", \.lostLines, .integer),
        ]
    ).form
}

extension JSONForm<TrimReport> {
    static let trimReport = JSONObjectForm(
        TrimReport(),
        [
            JSONField("rewritten", \.rewritten, .integer), JSONField("removed", \.removed, .integer),
            JSONField("lines", \.lines, .integer), JSONField("deadLetters", \.deadLetters, .integer),
            JSONField(flag: "postponed", \.isPostponed),
        ]
    ).form
}

extension JSONForm<JournalRepair> {
    /// The store writes it to a file, too.
    static let repair = JSONForm(write: { $1.raw($0.json) }, read: { .init(Array($0.text)) })
}

extension JSONForm<StoreStatistics> {
    static let statistics = JSONObjectForm<StoreStatistics>(written: [
        JSONField("pendingDeliveries", .integer) { $0.pendingDeliveries },
        JSONField("parkedDeliveries", .integer) { $0.parkedDeliveries },
        JSONField("unreadableDeliveries", .integer) { $0.unreadableDeliveries },
        JSONField("queuedReplies", .integer) { $0.queuedReplies },
        JSONField("pendingReferences", .integer) { $0.pendingReferences },
        JSONField("waitingBytes", .integer) { $0.waitingBytes },
        JSONField("lastSyncFailure", optional: .text) { $0.lastSyncFailure.map { "\($0)" } },
        JSONField("indexedMessages", .integer) { $0.indexedMessages },
        JSONField("quarantinedConversations", .integer) { $0.quarantinedConversations },
        JSONField("refusedConversations", .integer) { $0.refusedConversations },
        JSONField("checkpointFailure", optional: .text) { $0.checkpointFailure },
    ]).form
}
