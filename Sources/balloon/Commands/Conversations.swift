import ArgumentParser
import BalloonPOSIX
import BusinessMessages
import MessageStore

/// `balloon conversations …`: reads, checks and rebuilds conversation files; works while a server runs.
struct Conversations: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Read, check and rebuild the conversations in a data directory.",
        subcommands: [List.self, Show.self, Verify.self, Rebuild.self])

    /// `balloon conversations list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "List the conversations, newest last: time of the last line, number of lines, business, customer."
        )

        @Option(
            help: ArgumentHelp(
                "Only those of this business: its slug, its identifier, or the beginning of one.",
                valueName: "business"))
        var business: String?

        @OptionGroup var options: ReadingOptions

        func run() async throws {
            let business = try options.business(business)
            options.writeHeader("LAST", "LINES", "BUSINESS", "CUSTOMER")
            let found = try options.files().list().filter { business == nil || $0.business == business }
            for summary in found.sorted(by: { $0.lastAt < $1.lastAt }) {
                options.write(ConversationRendering.text(summary), json: ConversationRendering.json(summary))
            }
            // Damaged conversations are missing in the list; the exit code must show that.
            if let file = try options.files().quarantined().first {
                throw StoreError.quarantinedConversation(file: file)
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

        @Option(
            help: ArgumentHelp(
                "The business, when several have that customer: its slug, its identifier, or the beginning of one.",
                valueName: "business"))
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
            // A reply gets its line when its outcome is known.
            try options.journal().forEachReply(
                where: {
                    $0.status == .queued && $0.customer == summary.customer && $0.business == summary.business
                },
                {
                    options.write(
                        ReplyRendering.conversationText($0), json: ReplyRendering.conversationJSON($0))
                })
        }

        /// The messages that were handed off to a person, by record; only the journal has them.
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
            let files = try options.files()
            let business = try options.business(business)
            let isMeant = { (summary: ConversationFiles.Summary) in
                business == nil || summary.business == business
            }
            guard let customer else {
                return try files.list().filter(isMeant).max { $0.lastAt < $1.lastAt }
            }
            // A whole identifier leads to its files; a prefix is searched in all conversations.
            let exact = try files.summaries(of: CustomerID(customer)).filter(isMeant)
            let found =
                try exact.isEmpty
                ? files.list().filter { isMeant($0) && $0.customer.rawValue.hasPrefix(customer) } : exact
            guard found.count == 1, let summary = found.first else {
                throw CommandFailure.unknownArgument(
                    "\"\(terminalText(customer))\"",
                    reason: found.isEmpty
                        ? "matches no customer" : "matches \(found.count) conversations",
                    hint: found.isEmpty
                        ? "run balloon conversations list to see the customers"
                        : "give a longer identifier, or name the --business")
            }
            return summary
        }
    }
}
