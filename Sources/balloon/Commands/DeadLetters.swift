import ArgumentParser
import BalloonPOSIX
import BusinessMessages
import MessageServer
import MessageStore
import Payments

/// `balloon deadletters …`: the messages, replies and reversals of charges that wait for an operator's
/// decision.
struct DeadLetters: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deadletters",
        abstract:
            "List, show, retry and drop messages that no handler handled, replies that were not sent, and charges that were not reversed.",
        subcommands: [List.self, Show.self, Retry.self, Drop.self])

    /// `balloon deadletters list`: lists messages, replies and reversals of payments that are dead letters.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the dead letters: record, time, status, business, customer, summary, reason.",
            discussion:
                "Below a message whose answer was refused is each broken rule. Charges that a handler did not reverse are last, each with the key of its attempt at the payment provider."
        )

        @OptionGroup var filter: EventFilterOptions
        @OptionGroup var options: ReadingOptions

        func run() async throws {
            let journal = try options.journal()
            let filter = try filter.resolved(options)
            options.writeHeader("RECORD", "TIME", "STATUS", "BUSINESS", "CUSTOMER", "MESSAGE")
            var events = Deque<JournalEvent>()
            // When the journal is damaged, list the readable records first, then report the damage.
            var damage: (any Error)?
            do {
                try journal.forEach(where: { $0.isDeadLetter && filter.admits($0) }) { events.append($0) }
            } catch { damage = error }
            // List messages and replies in the order of their records; a reply follows the message that it answers.
            do {
                try journal.forEachReply(where: { $0.isDeadLetter && filter.admits($0) }) { reply in
                    while let event = events.first, event.record <= reply.id.record {
                        _ = events.popFirst()
                        options.writeDeadLetter(event)
                    }
                    options.write(reply)
                }
            } catch { damage = damage ?? error }
            while let event = events.popFirst() { options.writeDeadLetter(event) }
            for reversal in try options.reversals() where reversal.isDeadLetter && filter.admits(reversal) {
                options.write(reversal)
            }
            if let damage { throw damage }
        }
    }

    /// `balloon deadletters show`: shows one dead letter as JSON.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a dead letter and its reason as JSON, without secrets.")

        @Argument(
            help: "The message's record, the reply's name or the attempt's key, from the list: 57, 57.1.")
        var name: DeadLetterName

        @OptionGroup var options: ReadingOptions

        func run() async throws {
            switch name {
            case .event(let record):
                for event in try options.journal().events([record]) {
                    guard event.isDeadLetter else { throw StoreError.notDead(record: record) }
                    StandardStream.output.write(EventRendering.json(event, withMessage: true))
                }
            case .reply(let id):
                for reply in try options.journal().replies([id]) {
                    guard reply.isDeadLetter else { throw StoreError.replyNotDead(id) }
                    StandardStream.output.write(ReplyRendering.json(reply, withMessage: true))
                }
            case .reversal(let attempt):
                guard
                    let reversal = try options.reversals().first(where: {
                        $0.attempt.id == attempt && $0.isDeadLetter
                    })
                else { throw ReversalNotDead(attempt: attempt) }
                StandardStream.output.write(ReversalRendering.json(reversal))
            }
        }
    }

    /// `balloon deadletters retry`: delivers messages again, sends replies again, and has charges reversed again.
    struct Retry: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Deliver messages to their handlers again; send replies again, with the same id; ask handlers to reverse charges again."
        )

        @OptionGroup var choice: DeadLetterChoice

        @Option(help: .value("file", "Send this message instead of the named reply, with a new id."))
        var edit: String?

        @OptionGroup var options: ReadingOptions

        func validate() throws {
            guard edit != nil else { return }
            guard choice.names.count == 1, case .reply? = choice.names.first else {
                throw ValidationError("--edit takes the name of one reply, such as 57.1.")
            }
        }

        func run() async throws {
            try await retryReversals()
            try await retryReplies()
            var results: [ReplayResult<UInt64>] = []
            var chosen: [JournalEvent] = []
            if let selection = try choice.selection(options) {
                results = try await ControlOperations.replay.run(.selected(selection), data: try options.data)
            }
            for event in try choice.events(options) {
                switch DeadLetterResult(ofEnded: event) {
                case nil: chosen.append(event)
                case .alreadyReplayed(let replay)?:
                    results.append(ReplayResult(of: event.record, as: replay, isRepetition: true))
                default: throw StoreError.notDead(record: event.record)
                }
            }
            if !chosen.isEmpty {
                results += try await ControlOperations.replay.run(
                    .named(chosen.map(NamedState.init)), data: try options.data)
            }
            for result in results {
                options.write(
                    "\(result.original) \(result.isRepetition ? "already" : "is") retried as \(result.record)\n",
                    json: DeadLetterName.event(result.original).json(.retried, replay: result.record))
            }
        }

        private func retryReversals() async throws {
            let chosen = try choice.reversals(options)
            if let other = chosen.first(where: { $0.attempt.state == .dropped }) {
                throw ReversalNotDead(attempt: other.attempt.id)
            }
            let dead = chosen.filter(\.isDeadLetter).map(\.attempt.id)
            if !dead.isEmpty {
                _ = try await ControlOperations.retryReversals.run(dead, data: try options.data)
            }
            for reversal in chosen {
                let verb = reversal.isDeadLetter ? "is" : "already"
                options.write(
                    "\(reversal.attempt.id) \(verb) retried\n",
                    json: DeadLetterName.reversal(attempt: reversal.attempt.id).json(.retried))
            }
        }

        private func retryReplies() async throws {
            var results: [ReplayResult<ReplyID>] = []
            var chosen: [ReplyID] = []
            if let selection = try choice.selection(options) {
                results = try await ControlOperations.retryReplies.run(
                    ReplyRetryRequest(.selected(selection)), data: try options.data)
            }
            for reply in try choice.replies(options) {
                if reply.isDeadLetter {
                    chosen.append(reply.id)
                } else if let record = reply.retriedAs {
                    results.append(ReplayResult(of: reply.id, as: record, isRepetition: true))
                } else {
                    throw StoreError.replyNotDead(reply.id)
                }
            }
            if !chosen.isEmpty {
                results += try await ControlOperations.retryReplies.run(
                    ReplyRetryRequest(.named(chosen), edited: try edited()), data: try options.data)
            }
            for result in results {
                let verb = result.isRepetition ? "already retried" : "is sent again"
                options.write(
                    "\(result.original) \(verb) as \(result.record).1\n",
                    json: DeadLetterName.reply(result.original).json(.retried, replay: result.record))
            }
        }

        /// Reads the message of `--edit` and checks it as `balloon send` does; nil without `--edit`.
        private func edited() throws -> DecidedReply? {
            guard let edit, case .reply(let name)? = choice.names.first else { return nil }
            guard let reply = try options.journal().replies([name]).first else { return nil }
            let message = try CommandFile.json(edit)
            guard !OutboundMessage.holdsRedactedText(message.root) else {
                throw CommandFailure.malformed(
                    path: edit,
                    reason:
                        "it has \(InboundEvent.redactedText) in the place of a secret; write the secret there"
                )
            }
            let request = SendRequest(
                business: reply.business, customer: reply.customer, message: message, files: [], wait: .zero)
            do throws(SendRefusal) { return try request.outbound(id: .random()) } catch {
                throw CommandFailure.unsendable(error)
            }
        }
    }

    /// `balloon deadletters drop`: removes dead letters from the list.
    struct Drop: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove dead letters from the list for good; they stay in their conversations.",
            discussion:
                "With --all, charges that were not reversed stay; name each by the key of its attempt.")

        @OptionGroup var choice: DeadLetterChoice
        @OptionGroup var options: ReadingOptions

        func run() async throws {
            try await dropReversals()
            if let selection = try choice.selection(options) {
                for dropped in try await ControlOperations.dropReplies.run(
                    .selected(selection), data: try options.data)
                {
                    options.writeDropped(.reply(dropped.reply), isRepetition: false)
                }
                for record in try await ControlOperations.drop.run(
                    .selected(selection), data: try options.data)
                {
                    options.writeDropped(.event(record), isRepetition: false)
                }
                return
            }
            let replies = try choice.replies(options)
            if let other = replies.first(where: { !$0.isDeadLetter && $0.status != .dropped }) {
                throw StoreError.replyNotDead(other.id)
            }
            try await options.drop(replies)
            let chosen = try choice.events(options)
            if let other = chosen.first(where: { !$0.isDeadLetter && $0.status != .dropped }) {
                throw StoreError.notDead(record: other.record)
            }
            if chosen.isEmpty { return }
            let repeated = try await ControlOperations.drop.run(
                .named(chosen.map(\.record)), data: try options.data)
            for event in chosen {
                options.writeDropped(.event(event.record), isRepetition: repeated.contains(event.record))
            }
        }

        private func dropReversals() async throws {
            let chosen = try choice.reversals(options)
            // A dropped charge is not looked for again, although it may be the customer's money: each must be
            // named.
            if choice.all {
                guard !chosen.isEmpty else { return }
                return StandardStream.error.write(
                    "note: charges are not dropped by --all (\(chosen.count) are dead letters); name each by its key\n"
                )
            }
            if let other = chosen.first(where: { !$0.isDeadLetter && $0.attempt.state != .dropped }) {
                throw ReversalNotDead(attempt: other.attempt.id)
            }
            let dead = chosen.filter(\.isDeadLetter).map(\.attempt.id)
            if !dead.isEmpty {
                _ = try await ControlOperations.dropReversals.run(dead, data: try options.data)
            }
            for reversal in chosen {
                options.writeDropped(
                    .reversal(attempt: reversal.attempt.id), isRepetition: !reversal.isDeadLetter)
            }
        }
    }
}

/// The arguments that choose the dead letters of a command.
struct DeadLetterChoice: ParsableArguments {
    @Argument(
        help: "The messages' records, the replies' names and the attempts' keys, from the list: 57 57.1.")
    var names: [DeadLetterName] = []

    @Flag(help: "All dead letters that pass the filters.")
    var all = false

    @OptionGroup var filter: EventFilterOptions

    func validate() throws {
        if names.isEmpty != all { throw ValidationError("Name the records, or --all.") }
    }

    /// Returns the selection of all dead letters that pass the filters; nil when they are named.
    ///
    /// The server finds them, because they may be too many for a request.
    func selection(_ options: ReadingOptions) throws -> MessageSelection? {
        guard all else { return nil }
        var selection = try filter.resolved(options)
        selection.isOfDeadLetters = true
        return selection
    }

    /// Returns the messages among the named dead letters.
    ///
    /// A dead letter is included only if it passes the filters. A message that is no longer a dead letter is
    /// always included, so that a repeated command can report its present state.
    func events(_ options: ReadingOptions) throws -> [JournalEvent] {
        let journal = try options.journal()
        let filter = try filter.resolved(options)
        let records = names.compactMap { if case .event(let record) = $0 { record } else { nil } }
        return try records.isEmpty
            ? [] : journal.events(records).filter { !$0.isDeadLetter || filter.admits($0) }
    }

    /// Returns the replies among the named dead letters.
    ///
    /// A dead letter is included only if it passes the filters. A reply that is no longer a dead letter is
    /// always included, so that a repeated command can report its present state.
    func replies(_ options: ReadingOptions) throws -> [JournalReply] {
        let journal = try options.journal()
        let filter = try filter.resolved(options)
        let named = names.compactMap { if case .reply(let reply) = $0 { reply } else { nil } }
        return try named.isEmpty
            ? [] : journal.replies(named).filter { !$0.isDeadLetter || filter.admits($0) }
    }

    /// Returns the reversals among the chosen dead letters.
    ///
    /// A dead letter is included only if it passes the filters. A named reversal that is no longer a dead
    /// letter is always included. Throws when a named attempt needs no reversal, or when its request is no
    /// longer stored: a request is removed a day after its end.
    func reversals(_ options: ReadingOptions) throws -> [AttemptReversal] {
        let named = names.compactMap { if case .reversal(let attempt) = $0 { attempt } else { nil } }
        if named.isEmpty && !all { return [] }
        let filter = try filter.resolved(options)
        let known = try options.reversals()
        if all { return known.filter { $0.isDeadLetter && filter.admits($0) } }
        return try named.compactMap { attempt in
            guard let reversal = known.first(where: { $0.attempt.id == attempt }) else {
                throw ReversalNotDead(attempt: attempt)
            }
            return !reversal.isDeadLetter || filter.admits(reversal) ? reversal : nil
        }
    }
}

/// The name of a dead letter: a message's record, a reply's name, or the key of an attempt to pay.
enum DeadLetterName: ExpressibleByArgument, CustomStringConvertible {
    case event(UInt64)
    case reply(ReplyID)
    case reversal(attempt: String)

    /// Parses an argument; nil when it is not such a name.
    ///
    /// `57` names a message by its record, `57.1` names a reply, and 64 hexadecimal digits are the key of an
    /// attempt to pay.
    init?(argument: String) {
        if argument.utf8.count == 64, argument.allSatisfy(\.isHexDigit) {
            self = .reversal(attempt: argument.lowercased())
        } else if let record = UInt64(argument) {
            self = .event(record)
        } else if let reply = ReplyID(argument) {
            self = .reply(reply)
        } else {
            return nil
        }
    }
    var description: String {
        switch self {
        case .event(let record): "\(record)"
        case .reply(let reply): "\(reply)"
        case .reversal(let attempt): attempt
        }
    }

    /// The status that a command gave it: `{"record":12,"status":"retried","replay":31}`,
    /// `{"reply":"57.1","status":"dropped"}` or `{"attempt":"…","kind":"reversal","status":"dropped"}`.
    func json(_ status: ReplyState.Status, replay: UInt64? = nil) -> String {
        jsonLine { writer in
            switch self {
            case .event(let record): writer.field("record", Int(clamping: record))
            case .reply(let reply): writer.field("reply", "\(reply)")
            case .reversal(let attempt): writer.fields(["attempt": attempt, "kind": "reversal"])
            }
            writer.fields(["status": status.rawValue, "replay": replay.map { Int(clamping: $0) }])
        }
    }
}
