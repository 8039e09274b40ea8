import BusinessMessages
import Logging
package import MessageStore
import Payments

/// The changes that operators make: on the control socket of a running server, or to the data directory without a server.
///
/// A table of values: the routes, the bodies, the audit log and the commands' client come from it.
package enum ControlOperations {
    /// Replays finished messages; each named message has the state that the operator saw, so that a repetition changes nothing.
    package static let replay = ControlOperation(
        "/replay", .init(.named([]), [.chosen("messages", .namedState)]), .listed("replays", .replayed)
    ) { request, scope in
        switch request {
        case .named(let messages): try await scope.store.replay(messages)
        case .selected(let selection): try await scope.store.replay(where: selection.chooses)
        }
    }

    /// Drops dead letters; the result are the messages that were dropped before, or after a selection those dropped now.
    package static let drop = ControlOperation(
        "/drop", .init(.named([]), [.chosen("records", .record)]), .listed("records", .record)
    ) { request, scope in
        switch request {
        case .named(let records): try await scope.store.dropDead(records).sorted()
        case .selected(let selection): try await scope.store.dropDead(where: selection.chooses)
        }
    }

    /// Ends pending messages as dropped; the result are the messages that were dropped before.
    package static let dropPending = ControlOperation(
        "/events/drop", .init([], [JSONField("records", \.self, .list(.record))]),
        .listed("records", .record)
    ) { records, scope in
        try await scope.store.dropPending(
            records, reason: Store.droppedByOperator, isServed: scope.isServed
        ).sorted()
    }

    /// Sends replies again, with the same ids unless the one reply is edited.
    package static let retryReplies = ControlOperation(
        "/replies/retry",
        .init(
            ReplyRetryRequest(.named([])),
            [
                JSONField.chosen("replies", .reply).member(\.chosen),
                JSONField("edited", optional: \.edited, .decidedReply, isStrict: true),
            ], isValid: \.isValid), .listed("replies", .retriedReply)
    ) { request, scope in
        switch request.chosen {
        case .named(let replies): try await scope.store.retry(replies, as: request.edited)
        case .selected(let selection): try await scope.store.retryReplies(where: selection.chooses)
        }
    }

    /// Ends queued replies, and removes dead ones for good; the result are the replies that were dropped before, or after a
    /// selection those dropped now.
    package static let dropReplies = ControlOperation(
        "/replies/drop", .init(.named([]), [.chosen("replies", .reply)]), .listed("replies", .droppedReply)
    ) { request, scope in
        switch request {
        case .named(let replies):
            try await scope.store.drop(replies, reason: droppedReplyReason).sorted()
                .map { DroppedReply(reply: $0, isRepetition: true) }
        case .selected(let selection):
            try await scope.store.dropReplies(where: selection.chooses, reason: droppedReplyReason)
                .map { DroppedReply(reply: $0, isRepetition: false) }
        }
    }

    /// The recorded reason of a reply that an operator dropped.
    static let droppedReplyReason = "not sent: an operator dropped it"

    /// Claims a conversation for a person.
    package static let claim = assign(
        "/conversations/claim",
        JSONField(
            write: { request, writer in
                guard case .claim(let person, let takes) = request.change else { return }
                writer.key("person")
                person.write(to: &writer)
                if takes { writer.field("take", true) }
            },
            read: { object, request in
                guard let person = Person(object["person"]) else { return false }
                request.change = .claim(person, takes: object["take"]?.bool ?? false)
                return true
            }))

    /// Releases a conversation to its handler, or to another person.
    package static let release = assign(
        "/conversations/release",
        JSONField(
            write: { request, writer in
                let (to, note): (String, String?)
                switch request.change {
                case .releaseToHandler(let text): (to, note) = ("handler", text)
                case .releaseToWaiting(let text, let placement, _):
                    (to, note) = ("waiting", text)
                    writer.field("queue", placement?.queue)
                default: return
                }
                writer.fields(["to": to, "note": note])
            },
            read: { object, request in
                let note = object["note"]?.string
                switch object["to"]?.string {
                case "handler": request.change = .releaseToHandler(note: note)
                case "waiting":
                    let queue = object["queue"]?.string
                    request.change = .releaseToWaiting(
                        note: note, queue.map { Placement(queue: $0, rule: Placement.transfer) })
                default: return false
                }
                return true
            }))

    /// Closes a conversation.
    package static let close = assign("/conversations/close", JSONField(write: { _, _ in }))

    private static func assign(
        _ path: String, _ change: JSONField<AssignmentRequest>
    ) -> ControlOperation<AssignmentRequest, Assignment> {
        let conversation: [JSONField<AssignmentRequest>] = [
            JSONField("business", \.business, .business), JSONField("customer", \.customer, .customer),
        ]
        return ControlOperation(
            path, .init(AssignmentRequest(BusinessID(""), CustomerID(""), .close), conversation + [change]),
            JSONForm(
                write: { assignment, writer in writer.object { assignment.write(to: &$0) } },
                read: { Assignment($0) }),
            audit: { request, assignment, store, entry in
                store.audit(assignment?.assignee, of: request.business, request.customer)(&entry)
            }
        ) { request, scope in
            let name = ConversationID(business: request.business, customer: request.customer)
            // Without a server nothing is known about the survey.
            guard let watch = scope.running?.watch else {
                return try await scope.store.assign(request.change, name.business, name.customer)
            }
            return try await watch.assign(request.change, in: name)
        }
    }

    /// Asks the handlers again to reverse charges.
    package static let retryReversals = decideReversals("/reversals/retry", .retry)
    /// Gives up reversals of charges.
    package static let dropReversals = decideReversals("/reversals/drop", .drop)

    private static func decideReversals(
        _ path: String, _ action: Payment.ReversalAction
    ) -> ControlOperation<[String], Nothing> {
        ControlOperation(path, .init([], [JSONField("attempts", \.self, .list(.text))]), .nothing) {
            attempts, scope in
            try await scope.decideReversals(ReversalDecision(action: action, attempts: attempts))
            return Nothing()
        }
    }

    /// Erases customers.
    package static let erase = ControlOperation(
        "/erase",
        .init(
            ErasureRequest([], keepsPayments: false),
            [
                JSONField("customers", \.customers, .customers),
                JSONField("keepPayments", \.keepsPayments, .flag, missing: false),
            ], isValid: \.isValid), JSONObjectForm.erasureReport.form,
        audit: { $3.conversations = $1?.ledgerNames ?? [] }
    ) { request, scope in
        do {
            let report = try await scope.store.erase(
                request.customers, keepsPayments: request.keepsPayments, configure: scope.configureErasure)
            // The file of known uploads has hashes of contents, also of contents of the erased customers.
            scope.forgetUploads()
            scope.logger.notice(
                "customers erased",
                metadata: [
                    "customers": "\(request.customers.count)",
                    "conversations": "\(report.conversations)", "records": "\(report.records)",
                ])
            return report
        } catch {
            scope.logger.error(
                "erasure not completed; the next erasure or start of the server completes what has begun",
                metadata: ["error": "\(error)"])
            throw error
        }
    }

    /// Restores missing lines of conversations, and rewrites damaged ones.
    package static let rebuild = ControlOperation("/rebuild", .nothing, .rebuilt) { _, scope in
        do { return try await scope.store.rebuild() } catch {
            scope.logger.error("rebuild of conversations failed", metadata: ["error": "\(error)"])
            throw error
        }
    }

    /// Removes what the `retention` of each business no longer keeps; only a running server has the index of it.
    package static let trim = ControlOperation("/trim", .nothing, .trimReport, needsServer: true) {
        _, scope in try await scope.trim()
    }

    /// Removes lost records from a damaged journal.
    package static let repair = ControlOperation("/repair", .nothing, .repair) { _, scope in
        try await scope.store.repairJournal()
    }

    /// Lists the records that ``repair`` would remove.
    package static let damage = ControlOperation(reading: "/damage", .repair) { $0.repairPreview }

    /// The numbers of `StoreStatistics`.
    static let statistics = ControlOperation(reading: "/statistics", .statistics) { $0.statistics }
}
