import ArgumentParser
import BalloonJSON
import BalloonPOSIX
import MessageServer
import MessageStore

extension Conversations {
    /// `balloon conversations verify`.
    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check the journal and the conversations, and compare them.",
            discussion:
                "Changes nothing, and may run beside a server. Prints each problem on a line; exits with 65 when it finds any."
        )

        @OptionGroup var options: ReadingOptions

        func run() async throws {
            _ = try options.files()
            let json = options.json
            let result = try StoreVerification.run(dataDirectory: try options.data) { problem in
                StandardStream.output.write(
                    json ? VerificationRendering.json(problem) : VerificationRendering.text(problem))
            }
            if json {
                StandardStream.output.write(VerificationRendering.json(result))
            } else {
                StandardStream.error.write(VerificationRendering.text(result))
            }
            try result.throwProblems()
        }
    }

    /// `balloon conversations trim`.
    struct Trim: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Remove the messages and dead letters that are older than their business keeps them; a night does the same.",
            discussion: """
                Needs a running server. The limits are retention in each business's file. At most 50 files are opened in a \
                second; the server continues when the command is ended. Prints how many conversations were rewritten and removed.
                """)

        @OptionGroup var job: ResumedJob
        @OptionGroup var options: ReadingOptions

        func run() async throws {
            try options.check()
            let report = try await ControlOperations.trim.run(
                Nothing(), data: options.data, resumedBy: "balloon conversations trim", resuming: job.resume)
            options.write(
                "removed \(report.lines) lines: rewrote \(report.rewritten) conversations and removed \(report.removed); dropped \(report.deadLetters) dead letters\(report.isPostponed ? "; the rest waits for the end of the running backup" : "")\n",
                json: String(decoding: ControlOperations.trim.result.json(report), as: UTF8.self) + "\n")
        }
    }

    /// `balloon conversations rebuild`.
    struct Rebuild: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Restore missing conversation lines from the journal, and rewrite damaged conversations.",
            discussion:
                "Uses the running server, or locks the directory when none runs. Exits with 65 when problems remain."
        )

        @OptionGroup var job: ResumedJob
        @OptionGroup var options: ReadingOptions

        func run() async throws {
            _ = try options.files()
            let rebuilt = try await ControlOperations.rebuild.run(
                Nothing(), data: try options.data, resumedBy: "balloon conversations rebuild",
                resuming: job.resume)
            options.write(VerificationRendering.text(rebuilt), json: VerificationRendering.json(rebuilt))
            // Damage that the journal cannot repair is reported.
            try StoreVerification.requireSoundness(of: try options.data)
        }
    }
}

extension StoreVerification {
    /// Checks a data directory, lists its problems, and throws when there are any.
    static func requireSoundness(of data: String) throws {
        try run(dataDirectory: data) { problem in
            StandardStream.error.write(VerificationRendering.text(problem))
        }
        .throwProblems()
    }

    /// Throws ``CommandFailure/problemsFound(count:areInJournal:)`` when problems were found.
    func throwProblems() throws(CommandFailure) {
        if problems > 0 { throw .problemsFound(count: problems, areInJournal: isJournalDamaged) }
    }
}

/// Formats the problems of a data directory and the result of a rebuild; every result ends its line.
enum VerificationRendering {
    static func text(_ problem: StoreProblem) -> String { terminalText("\(problem)") + "\n" }

    /// `{"problem":"missing","file":"…","record":12}`, with `line` where there is one.
    static func json(_ problem: StoreProblem) -> String {
        jsonLine([
            "problem": problem.kind.rawValue, "file": problem.file,
            "line": problem.line > 0 ? problem.line : nil, "record": problem.record.map { Int(clamping: $0) },
        ])
    }

    static func text(_ result: StoreVerification) -> String {
        "\(result.records) records in \(result.segments) segments, \(result.lines) lines in "
            + "\(result.conversations) conversations, \(result.comparedLines) of them compared: "
            + "\(result.problems) problems\n"
    }

    /// `{"segments":1,"records":4,"conversations":1,"lines":2,"comparedLines":2,"problems":0}`.
    static func json(_ result: StoreVerification) -> String {
        jsonLine([
            "segments": result.segments, "records": result.records, "conversations": result.conversations,
            "lines": result.lines, "comparedLines": result.comparedLines, "problems": result.problems,
        ])
    }

    static func text(_ rebuilt: Store.Rebuilt) -> String {
        "\(rebuilt.restoredLines) lines restored, \(rebuilt.repairedConversations) conversations repaired, "
            + "\(rebuilt.lostLines) lines lost\n"
    }

    /// `{"restoredLines":2,"repairedConversations":1,"lostLines":0}`.
    static func json(_ rebuilt: Store.Rebuilt) -> String {
        String(decoding: ControlOperations.rebuild.result.json(rebuilt), as: UTF8.self) + "\n"
    }
}
