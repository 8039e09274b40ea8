import BalloonHTTP
import BalloonJSON
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

    /// A message of a thread; nil when it has none with this id.
    func line(_ id: String, of customer: SimulatedCustomer) throws -> ConversationLine? {
        do {
            return try conversations.message(
                MessageID(id), of: customer.business, named: ConversationFiles.name(of: customer.id))?.line
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
            writer.field("typing", isTyping(to: customer))
            writer.field("next", next)
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
        let lines = page.lines.compactMap { text in ConversationLine(text).map { (text, $0) } }
        let sent = Set(lines.lazy.filter { $0.1.direction == .outbound }.map(\.1.id))
        let answered = try answeredRequests(of: customer, name, lines.map(\.1))
        return JSONWriter.object(reservingCapacity: 16_384) { writer in
            writer.array("thread") { writer in
                for (text, line) in lines where !line.isFilesOnly {
                    line.write(text, isAnswered: line.isAnswered(by: answered), to: &writer)
                }
            }
            writePending(of: customer, without: sent, to: &writer)
            writer.field("typing", isTyping(to: customer))
            writer.field("next", page.last)
        }
    }

    /// Writes the replies that are decided and not yet sent; the journal keeps them over a restart.
    ///
    /// A reply gets its line before it leaves the queue, so those that have one are left out.
    private func writePending(
        of customer: PhoneCustomer, without sent: Set<MessageID> = [], to writer: inout JSONWriter
    ) {
        let queued = inspected.withLock { $0 }?.queuedReplies(of: customer.business, customer.id) ?? []
        writer.array("pending") { writer in
            for entry in queued where !sent.contains(entry.reply.id) && !entry.reply.kind.isTyping {
                writer.object { writer in
                    writer.field("id", entry.reply.id.rawValue)
                    writer.field("at", entry.decidedAt.rfc3339)
                    writer.field("direction", "outbound")
                    writer.field("kind", entry.reply.kind.rawValue)
                    writer.field("status", "queued")
                    writer.field("attempts", entry.attempts)
                    writer.field("record", Int(entry.id.record))
                    writer.object("line") { writer in
                        writer.field("id", entry.reply.id.rawValue)
                        writer.raw("message", entry.reply.message)
                    }
                }
            }
        }
    }

    /// The identifiers of the answered questions in a page and among the newest lines, each with the newest answer's number.
    private func answeredRequests(
        of customer: PhoneCustomer, _ name: String, _ lines: [ConversationLine]
    ) throws -> [String: Int] {
        let newest = try conversations.page(
            of: customer.business, named: name, .latest, maximum: 200, maximumBytes: 1 << 20)
        let all = lines + (newest?.lines ?? []).compactMap { ConversationLine($0) }
        return Dictionary(
            all.filter { $0.direction == .inbound }.flatMap { line in
                line.questionIdentifiers.map { ($0, line.sequence) }
            }, uniquingKeysWith: max)
    }

    /// Whether the last message that the gateway accepted for the customer says that the business types.
    private func isTyping(to customer: PhoneCustomer) -> Bool {
        guard let last = gateway.lastMessage(for: customer.id),
            last.message.root["type"]?.string == "typing_start"
        else { return false }
        return last.at.advanced(by: Self.typingLifetime) > .now()
    }
}

extension ConversationLine {
    /// The identifiers by which a question and its answer belong together.
    fileprivate var questionIdentifiers: [String] {
        guard let data = message["interactiveData"] else { return [] }
        return [data["data"]?["requestIdentifier"]?.string, data["sessionIdentifier"]?.string].compactMap(
            \.self)
    }

    /// A question that was sent again with the same identifiers after its answer is a new one.
    fileprivate func isAnswered(by answers: [String: Int]) -> Bool {
        direction == .outbound && questionIdentifiers.contains { answers[$0, default: 0] > sequence }
    }

    /// Writes the entry of a thread.
    fileprivate func write(_ text: [UInt8], isAnswered: Bool, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("seq", sequence)
            writer.field("id", id.rawValue)
            writer.field("at", at.rfc3339)
            writer.field("direction", direction.rawValue)
            writer.field("kind", kind.rawValue)
            writer.raw("line", text)
            if direction == .outbound {
                let isAccepted = outcome == nil || outcome == "accepted"
                writer.field("status", isAccepted ? "accepted" : "failed")
                if !isAccepted {
                    writer.field("reason", status.map { "\(outcome ?? "") with \($0)" } ?? outcome)
                }
            }
            writer.field("answered", isAnswered)
            writer.field("record", Int(record))
        }
    }
}
