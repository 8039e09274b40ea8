import BalloonHTTP
import BalloonPOSIX
import BusinessMessages
import MessageServer
import MessageStore
import Simulator
import Synchronization

extension Phone {
    private static let maximumPageBytes = 8 << 20
    /// How long a business's typing indicator is shown without another message.
    private static let typingLifetime = Duration.seconds(60)

    /// A message of a customer's thread; nil when it has none with this id.
    func message(
        _ id: String, of customer: CustomerID, _ business: BusinessID
    ) throws -> ConversationFiles.FoundMessage? {
        do {
            return try conversations.message(
                MessageID(id), of: business, named: ConversationFiles.name(of: customer))
        } catch is ConversationFiles.UnfinishedSearch {
            throw InspectorProblem(.serviceUnavailable, "the message is too far back in the thread")
        }
    }

    /// The entries after a number, or those before one; waits for the first when there is none after it.
    func thread(_ request: InspectorRequest) async throws -> [UInt8] {
        let (customer, _) = try customer(request.path("id"))
        let limit = try request.int("limit", in: 1...500, or: 200)
        if request["before"] != nil {
            let before = try request.int("before", in: 1...(1 << 48), or: 1)
            return try page(of: customer, .before(before), limit) ?? empty(of: customer, next: 0)
        }
        let after = try request.int("after", in: 0...(1 << 48), or: 0)
        let end = ContinuousClock.now + .seconds(try request.int("wait", in: 0...25, or: 0))
        while true {
            let last = events.last
            let place: ConversationFiles.PagePlace = after == 0 ? .latest : .after(after)
            if let page = try page(of: customer, place, limit) { return page }
            let left = end - ContinuousClock.now
            guard left > .zero, !events.isStopped else { return empty(of: customer, next: after) }
            await events.wait(after: last, within: left)
        }
    }

    private func empty(of customer: PhoneCustomer, next: Int) -> [UInt8] {
        JSONWriter.object { writer in
            writer.array("thread") { _ in }
            writePending(of: customer, to: &writer)
            writer.fields(["typing": isTyping(to: customer), "next": next])
        }
    }

    /// A page of entries; nil when the conversation has none at the place.
    private func page(
        of customer: PhoneCustomer, _ place: ConversationFiles.PagePlace, _ limit: Int
    ) throws -> [UInt8]? {
        let name = ConversationFiles.name(of: customer.id)
        guard
            let page = try conversations.page(
                of: customer.business, named: name, place, maximum: limit,
                maximumBytes: Self.maximumPageBytes), !page.lines.isEmpty
        else { return nil }
        // The customer sees no internal line.
        let lines = page.lines.compactMap { text in ConversationLine(text).map { (text, $0) } }
            .filter { $0.1.direction != .internal }
        let sent = Set(lines.lazy.filter { $0.1.direction == .outbound }.map(\.1.id))
        let answers = try answers(of: customer, name, lines.map(\.1))
        return JSONWriter.object(reservingCapacity: 16_384) { writer in
            writer.array("thread") { writer in
                for (text, line) in lines where !line.isFilesOnly {
                    line.write(text, answers, to: &writer)
                }
            }
            writePending(of: customer, without: sent, to: &writer)
            writer.fields(["typing": isTyping(to: customer), "next": page.last])
        }
    }

    /// Writes the replies that are decided and not yet sent; the journal keeps them over a restart.
    ///
    /// A reply gets its line before it leaves the queue, so those that have one are left out.
    private func writePending(
        of customer: PhoneCustomer, without sent: Set<MessageID> = [], to writer: inout JSONWriter
    ) {
        let queued = store.withLock(\.self)?.queuedReplies(of: customer.business, customer.id) ?? []
        writer.array("pending") { writer in
            for entry in queued where !sent.contains(entry.reply.id) && !entry.reply.kind.isTyping {
                let id = entry.reply.id.rawValue
                writer.object([
                    "id": id, "at": entry.decidedAt.rfc3339, "direction": "outbound",
                    "kind": entry.reply.kind.rawValue, "status": "queued", "attempts": entry.attempts,
                    "record": Int(entry.id.record),
                    "line": JSONObject(["id": id, "message": JSONText(entry.reply.message)]),
                ])
            }
        }
    }

    /// The answers and their questions in a page and among the newest lines.
    private func answers(
        of customer: PhoneCustomer, _ name: String, _ lines: [ConversationLine]
    ) throws -> PhoneAnswers {
        let newest = try conversations.page(
            of: customer.business, named: name, .latest, maximum: 200, maximumBytes: 1 << 20)
        let all = Dictionary(
            (lines + (newest?.lines ?? []).compactMap { ConversationLine($0) }).map { ($0.sequence, $0) },
            uniquingKeysWith: { first, _ in first }
        ).values.sorted { $0.sequence < $1.sequence }
        let hasPayment = all.contains { $0.direction == .outbound && $0.kind == .applePay }
        let sent = hasPayment ? gateway.messages(for: customer.id) : []
        return PhoneAnswers(
            all,
            sent: Dictionary(sent.map { ($0.id, $0.message.root) }, uniquingKeysWith: { first, _ in first }))
    }

    /// Whether the last message that the gateway accepted for the customer says that the business types.
    private func isTyping(to customer: PhoneCustomer) -> Bool {
        guard let last = gateway.lastMessage(for: customer.id),
            last.message.root["type"]?.string == "typing_start"
        else { return false }
        return last.at.advanced(by: Self.typingLifetime) > .now()
    }
}

/// Which questions of a thread the customer has answered, and by which lines.
private struct PhoneAnswers {
    /// The questions by the numbers of the lines that answer them.
    private(set) var questions: [Int: MessageID] = [:]
    /// The numbers of the answered questions.
    private(set) var answered: Set<Int> = []

    /// Reads lines in their order; `sent` has the messages as the gateway received them.
    init(_ lines: [ConversationLine], sent: [MessageID: JSONValue]) {
        var asked: [String: ConversationLine] = [:]
        for line in lines {
            let identifiers = Self.identifiers(line.message, line.kind)
            if line.direction == .outbound {
                // The server draws a payment's identifier when it sends the request, so the line lacks it.
                let drawn = sent[line.id].map { Self.identifiers($0, line.kind) } ?? []
                // A question that is sent again with the same identifiers is a new one.
                for identifier in identifiers + drawn { asked[identifier] = line }
            } else if let question = identifiers.lazy.compactMap({ asked[$0] }).first {
                questions[line.sequence] = question.id
                answered.insert(question.sequence)
            }
        }
    }

    /// The identifiers by which a question and its answer belong together; those of a payment are cut, as in the recorded answer.
    private static func identifiers(_ message: JSONValue, _ kind: Kind) -> [String] {
        guard let data = message["interactiveData"] else { return [] }
        let request = data["data"]?["requestIdentifier"]?.string
        return [
            kind == .applePay ? request?.cut(toBytes: InboundEvent.shownIdentifierLength) : request,
            data["sessionIdentifier"]?.string,
        ].compactMap(\.self).filter { !$0.isEmpty }
    }
}

extension ConversationLine {
    /// Writes the entry of a thread.
    fileprivate func write(_ text: [UInt8], _ answers: PhoneAnswers, to writer: inout JSONWriter) {
        let isAccepted = direction == .inbound || outcome == nil || outcome == "accepted"
        writer.object([
            "seq": sequence, "id": id.rawValue, "at": at.rfc3339, "direction": direction.rawValue,
            "kind": kind.rawValue, "line": JSONText(text),
            "status": direction == .inbound ? nil : isAccepted ? "accepted" : "failed",
            "reason": isAccepted ? nil : status.map { "\(outcome ?? "") with \($0)" } ?? outcome,
            "answered": answers.answered.contains(sequence),
            "answers": answers.questions[sequence]?.rawValue, "record": Int(record),
        ])
    }
}
