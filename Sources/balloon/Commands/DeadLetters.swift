import ArgumentParser
import BalloonPOSIX
import MessageStore

/// `balloon deadletters …`: messages that no handler took, until somebody decides about them.
struct DeadLetters: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deadletters",
        abstract: "List, show, retry and drop the messages that no handler took.",
        subcommands: [List.self, Show.self, Retry.self, Drop.self])

    /// `balloon deadletters list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the dead letters: record, time, status, business, customer, summary, reason.")

        @OptionGroup var filter: EventFilter
        @OptionGroup var options: ReadingOptions

        func run() async throws {
            try options.journal().forEach(
                where: { $0.isDeadLetter && filter.admits($0) },
                options.write)
        }
    }

    /// `balloon deadletters show`.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a dead letter as JSON, without secrets, and why it is one.")

        @Argument(help: "The message's record, as the list shows it.")
        var record: UInt64

        @OptionGroup var options: ReadingOptions

        func run() async throws {
            for event in try options.journal().events([record]) {
                guard event.isDeadLetter else { throw StoreError.notDead(record: record) }
                StandardStream.output.write(EventRendering.json(event, withMessage: true))
            }
        }
    }

    /// `balloon deadletters retry`.
    struct Retry: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Hand dead letters to their handlers again.")

        @OptionGroup var choice: DeadLetterChoice
        @OptionGroup var options: ReadingOptions

        func run() async throws {
            var results: [ReplayResult] = []
            var chosen: [JournalEvent] = []
            for event in try choice.events(options) {
                if event.isDeadLetter {
                    chosen.append(event)
                } else if let replay = event.replayedAs {
                    results.append(ReplayResult(record: event.record, replay: replay, isRepetition: true))
                } else {
                    throw StoreError.notDead(record: event.record)
                }
            }
            if !chosen.isEmpty {
                results += try await StoreChange.replay(chosen.map(NamedState.init), data: options.data)
            }
            for result in results {
                StandardStream.output.write(
                    options.json
                        ? EventRendering.json(result.record, .retried, replay: result.replay)
                        : "\(result.record) \(result.isRepetition ? "already retried" : "is retried") as \(result.replay)\n"
                )
            }
        }
    }

    /// `balloon deadletters drop`.
    struct Drop: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Take dead letters off the list for good; they stay in their conversations.")

        @OptionGroup var choice: DeadLetterChoice
        @OptionGroup var options: ReadingOptions

        func run() async throws {
            let chosen = try choice.events(options)
            if let other = chosen.first(where: { !$0.isDeadLetter && $0.status != .dropped }) {
                throw StoreError.notDead(record: other.record)
            }
            if chosen.isEmpty { return }
            let repeated = try await StoreChange.drop(chosen.map(\.record), data: options.data)
            for event in chosen {
                StandardStream.output.write(
                    options.json
                        ? EventRendering.json(event.record, .dropped)
                        : "\(event.record) \(repeated.contains(event.record) ? "already" : "is") dropped\n")
            }
        }
    }
}

/// Which dead letters something is done about.
struct DeadLetterChoice: ParsableArguments {
    @Argument(help: "The messages' records, as the list shows them.")
    var records: [UInt64] = []

    @Flag(help: "All that the filters admit.")
    var all = false

    @OptionGroup var filter: EventFilter

    func validate() throws {
        if records.isEmpty != all { throw ValidationError("Name the records, or --all.") }
    }

    /// The dead letters that the filters admit; of those that are named also what is none any more, for a repetition.
    func events(_ options: ReadingOptions) throws -> [JournalEvent] {
        let journal = try options.journal()
        if all { return try journal.events { $0.isDeadLetter && filter.admits($0) } }
        return try journal.events(records).filter { !$0.isDeadLetter || filter.admits($0) }
    }
}
