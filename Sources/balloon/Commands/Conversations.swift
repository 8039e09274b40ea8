import ArgumentParser
import BalloonPOSIX
import BusinessMessages
import MessageStore

/// `balloon conversations …`: reads, checks and rebuilds conversation files; works while a server runs.
struct Conversations: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "Read, check, rebuild and trim the conversations in a data directory, and change who answers in them.",
        subcommands: [
            List.self, Show.self, Claim.self, Release.self, Close.self, Verify.self, Rebuild.self, Trim.self,
        ])

    /// `balloon conversations list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "List the conversations, newest last: time of the last line, number of lines, business, customer.",
            discussion: """
                A conversation that is not simply with its handler ends with its state: it waits for a person, is with a person, \
                or is closed.

                The command opens every conversation's file, because only the files name customers; with --state waiting, person or closed only those. A server with tokens has an index: GET /v1/businesses/{slug}/conversations.
                """)

        @Option(help: .business)
        var business: String?

        @Option(help: "Only those in this state.")
        var state: Assignment.State?

        @OptionGroup var options: ReadingOptions

        func run() async throws {
            let business = try options.business(business)
            options.writeHeader("LAST", "LINES", "BUSINESS", "CUSTOMER", "STATE")
            let (assigned, damage) = try options.journal().assignedConversations()
            let assignments = Dictionary(assigned.map { ($0.key, $0.assignment) }) { _, last in last }
            let found = try summaries(assigned).filter { business == nil || $0.business == business }
            for summary in found.sorted(by: { $0.lastAt < $1.lastAt }) {
                let assignment =
                    assignments[[summary.business.rawValue, summary.customer.rawValue]] ?? .handler
                guard state == nil || assignment.state == state else { continue }
                options.write(
                    ConversationRendering.text(summary, assignment),
                    json: ConversationRendering.json(summary, assignment))
            }
            // The list omits damaged conversations, and may have an older state after damage of the journal, so the exit code
            // must report both.
            if let damage { throw damage }
            if let file = try options.files().quarantined().first {
                throw StoreError.quarantinedConversation(file: file)
            }
        }

        /// Returns the conversations that may be in the requested state.
        ///
        /// For a state that only assigned conversations have, only the files of assigned conversations are
        /// read.
        private func summaries(_ assigned: [Store.AssignedConversation]) throws -> [ConversationFiles.Summary]
        {
            let files = try options.files()
            guard let state, state != .handler else { return try files.list() }
            return try assigned.filter { $0.assignment.state == state }.flatMap { item in
                try files.summaries(of: item.customer).filter { $0.business == item.business }
            }
        }
    }

    /// `balloon conversations show`.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a conversation, oldest line first.",
            discussion: "Without a customer it shows the conversation with the latest line.")

        @Argument(help: "The customer's identifier, or its beginning.")
        var customer: String?

        @Option(help: .business)
        var business: String?

        @OptionGroup var options: ReadingOptions

        func run() async throws {
            guard let summary = try chosen() else {
                return StandardStream.error.write("no conversation exists yet\n")
            }
            let handOffs = try handOffs(in: summary)
            for line in try options.files().lines(of: summary.business, summary.customer) {
                options.write(ConversationRendering.text(line), json: ConversationRendering.json(line))
                guard line.direction == .inbound, let event = handOffs[line.record] else { continue }
                options.write(
                    ConversationRendering.handOffText(event), json: ConversationRendering.handOffJSON(event))
            }
            // Add queued replies, because a reply gets its line only when its outcome is known.
            try options.journal().forEachReply(
                where: {
                    $0.status == .queued && $0.customer == summary.customer && $0.business == summary.business
                },
                {
                    options.write(
                        ReplyRendering.conversationText($0), json: ReplyRendering.conversationJSON($0))
                })
        }

        /// Returns the journal's events that handed this conversation off to a person, by record.
        ///
        /// The conversation's own lines do not have this information.
        private func handOffs(in summary: ConversationFiles.Summary) throws -> [UInt64: JournalEvent] {
            var found: [UInt64: JournalEvent] = [:]
            try options.journal().forEach(
                where: {
                    $0.status == .handedOff && $0.customer == summary.customer
                        && $0.business == summary.business
                }, { found[$0.record] = $0 })
            return found
        }

        private func chosen() throws -> ConversationFiles.Summary? {
            if let customer { return try options.conversation(of: customer, business) }
            let business = try options.business(business)
            return try options.files().list().filter { business == nil || $0.business == business }
                .max { $0.lastAt < $1.lastAt }
        }
    }
}

extension ReadingOptions {
    /// Returns the conversation of a customer, whose identifier is given in full or by its beginning.
    func conversation(of customer: String, _ business: String?) throws -> ConversationFiles.Summary {
        let files = try files()
        let business = try self.business(business)
        let isMeant = { (summary: ConversationFiles.Summary) in
            business == nil || summary.business == business
        }
        // A full identifier determines the conversation's files; a prefix is searched for in all
        // conversations.
        let exact = try files.summaries(of: CustomerID(customer)).filter(isMeant)
        let found =
            try exact.isEmpty
            ? files.list().filter { isMeant($0) && $0.customer.rawValue.hasPrefix(customer) } : exact
        guard found.count == 1, let summary = found.first else {
            throw CommandFailure.unknownArgument(
                "\"\(terminalText(customer))\"",
                reason: found.isEmpty ? "matches no customer" : "matches \(found.count) conversations",
                hint: found.isEmpty
                    ? "run balloon conversations list to see the customers"
                    : "give a longer identifier, or name the --business")
        }
        return summary
    }
}

extension Store.AssignedConversation {
    /// The business and the customer.
    fileprivate var key: [String] { [business.rawValue, customer.rawValue] }
}
