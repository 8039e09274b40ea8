import ArgumentParser
import BalloonPOSIX
import MessageServer
import MessageStore

/// `balloon journal …`: what to do when the journal itself is damaged.
struct JournalCommands: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "journal", abstract: "Repair the journal in a data directory.",
        subcommands: [Repair.self])

    /// `balloon journal repair`.
    struct Repair: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Give up the records that the journal has lost; shows which, and does it only with --yes.",
            discussion: """
                Asks the server that runs, or takes the directory's lock when none does. Keeps the damaged files, and a \
                report, in DATA/damaged/journal. Messages whose ends are lost are delivered again; an identifier that is \
                lost counts as new.
                """)

        @Flag(help: "Really give them up.")
        var yes = false

        @Option(help: ArgumentHelp("Wait for a repair that runs.", valueName: "id"))
        var resume: String?

        @OptionGroup var options: ReadingOptions

        func validate() throws {
            if let resume, !ControlRoutes.isJob(resume) { throw ValidationError("\(resume) is no job's id.") }
        }

        func run() async throws {
            let yes = yes
            let done = try await StoreChange.repair(data: options.data, resuming: resume) { damage in
                if damage.isEmpty || !yes {
                    write(damage, isDone: false)
                    return false
                }
                StandardStream.error.write(text(damage, isDone: false))
                return true
            }
            if let done { write(done, isDone: true) }
        }

        private func write(_ repair: JournalRepair, isDone: Bool) {
            options.write(
                text(repair, isDone: isDone), json: String(decoding: repair.json, as: UTF8.self) + "\n")
        }

        private func text(_ repair: JournalRepair, isDone: Bool) -> String {
            if repair.isEmpty { return "the journal is whole\n" }
            let records = repair.lostRecords.isEmpty ? "no records" : "the records \(repair.recordsText)"
            let segments = repair.segments.joined(separator: ", ")
            if isDone {
                return "gave up \(records); the damaged files (\(segments)) are in damaged/journal\n"
            }
            let held = repair.heldConversations
            return
                "would give up \(records) in \(segments); \(held) \(held == 1 ? "conversation is" : "conversations are") "
                + "held back until then; --yes does it\n"
        }
    }
}
