import ArgumentParser
import BalloonPOSIX
import MessageServer
import MessageStore

/// `balloon journal …`: repairs a damaged journal.
struct JournalCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "journal", abstract: "Repair the journal in a data directory.",
        subcommands: [Repair.self])

    /// `balloon journal repair`: removes lost records from a damaged journal.
    struct Repair: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove lost records from a damaged journal; a dry run without --yes.",
            discussion: """
                Uses the running server, or locks the directory when none runs. Keeps the damaged files, and a \
                report, in DATA/damaged/journal. Messages whose outcome is lost are delivered again; a message whose id is \
                lost counts as new when Apple repeats it.
                """)

        @Flag(help: "Repair the journal; without it the losses are only listed.")
        var yes = false

        @OptionGroup var job: ResumedJob
        @OptionGroup var options: ReadingOptions

        func run() async throws {
            let yes = yes
            let data = try options.data
            let confirms = { (damage: JournalRepair) in
                if damage.isEmpty || !yes {
                    write(damage, isDone: false)
                    return false
                }
                StandardStream.error.write(text(damage, isDone: false))
                return true
            }
            if job.resume == nil,
                let answer = try await ControlSocket.request(ControlOperations.damage.path, data: data),
                !confirms(try StoreChange.result(answer, ControlOperations.damage.answer))
            {
                return
            }
            let done = try await StoreChange.run(
                ControlOperations.repair, Nothing(), data: data, resumedBy: "balloon journal repair",
                resuming: job.resume, if: { confirms($0.repairPreview) })
            if let done { write(done, isDone: true) }
        }

        private func write(_ repair: JournalRepair, isDone: Bool) {
            options.write(
                text(repair, isDone: isDone), json: String(decoding: repair.json, as: UTF8.self) + "\n")
        }

        private func text(_ repair: JournalRepair, isDone: Bool) -> String {
            if repair.isEmpty { return "the journal is intact\n" }
            let records = repair.lostRecords.isEmpty ? "no records" : "the records \(repair.recordsText)"
            let segments = repair.segments.joined(separator: ", ")
            let missing =
                repair.missingSegments.isEmpty
                ? "" : "; missing: \(repair.missingSegments.joined(separator: ", "))"
            if isDone {
                let kept =
                    segments.isEmpty
                    ? "" : "; copies of the damaged files (\(segments)) are in damaged/journal"
                return "removed \(records)\(kept)\(missing)\n"
            }
            let held = repair.heldConversations
            return "would remove \(records)\(segments.isEmpty ? "" : " in \(segments)")\(missing); "
                + "\(held) \(held == 1 ? "conversation is" : "conversations are") "
                + "held back until then; add --yes to do it\n" + list(repair)
        }

        /// Returns one line for each conversation whose deliveries wait for the repair, with its queued
        /// replies.
        ///
        /// A long list is shortened, and a last line has the number of omitted conversations.
        private func list(_ repair: JournalRepair) -> String {
            let lines = repair.held.map { held in
                let replies = held.replies.isEmpty ? "" : ", replies \(held.replies.joined(separator: ", "))"
                return "  held back: business \(terminalText(held.business)), customer "
                    + "\(terminalText(held.customer))\(terminalText(replies))\n"
            }
            let others = repair.heldConversations - repair.held.count
            return lines.joined() + (others > 0 && !lines.isEmpty ? "  and \(others) others\n" : "")
        }
    }
}
