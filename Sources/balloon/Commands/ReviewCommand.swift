import ArgumentParser
import BalloonHTTP
import BalloonPOSIX
import BusinessMessages
import Logging
import MessageServer
import Review

/// `balloon review`: plays Apple's reviewer against a business and its handler.
struct ReviewCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "review",
        abstract: "Rehearse Apple's review of a business: play customers, and name known objections.",
        discussion: """
            Starts a server with a simulated gateway on free ports and a data directory that is removed at the end, plays customers \
            and persons, and judges the conversations by the table of checks. Payments and sign-ins are simulated; a program gets \
            BALLOON_REVIEW=1. Without --config, the handler is reviewed with the business's file that balloon init writes. Exits \
            with 0 without an objection, with 1 with one, with 65 for an invalid brief, and with 69 when the handler does not start.
            """)

    @OptionGroup var choice: DevelopmentHandler

    @Option(help: .value("business", "The business, when there is more than one."))
    var business: String?

    @Option(help: .value("file", "What the business says about itself."))
    var brief: String?

    @Option(
        help: .value("checks", "The checks to judge, such as C9-C15,C3."), transform: ReviewCommand.checks)
    var only: [ReviewCheck] = []

    @Flag(help: "Write one JSON object with the results and the transcripts.")
    var json = false

    @Option(help: .value("file", "Write the results as JUnit's XML to this file."))
    var junit: String?

    @Option(help: .value("file", "Write the results and the transcripts as an HTML page to this file."))
    var html: String?

    @Flag(help: "Print a brief from the business's file, ask for the rest at a terminal, and play nothing.")
    var writeBrief = false

    @Flag(help: "Print the scenes of the recordings for Apple: what to type, and what must be seen.")
    var script = false

    @Flag(help: "Show the features of an MSP's validation, and print where each was shown.")
    var msp = false

    @Flag(help: "Judge the stored conversations of --config by C4, C8 and C16, and play nothing.")
    var conversations = false

    @Flag(help: "Also review an HTTP service of --config: a real one may place real orders.")
    var yes = false

    @OptionGroup var log: LogOptions

    func validate() throws {
        try require(
            [writeBrief, script, msp, conversations].count(where: \.self) <= 1,
            "--write-brief, --script, --msp and --conversations exclude each other.")
        try require(!conversations || choice.config != nil, "--conversations needs --config.")
        let isReport = !(writeBrief || script || msp)
        try require(
            isReport || !(json || junit != nil || html != nil),
            "--json, --junit and --html belong to a review.")
        try require(only.isEmpty || (isReport && !conversations), "--only belongs to a review.")
    }

    private static func checks(_ text: String) throws -> [ReviewCheck] {
        guard let checks = ReviewCheck.selected(by: text) else {
            throw ValidationError("--only takes numbers of checks, such as C9-C15,C3.")
        }
        return checks
    }

    func run() async throws {
        let logger = try log.start().logger
        let folder = try ReviewFolder(choice)
        let report = try await running {
            try await self.report(folder, logger)
        } stop: {
            folder.remove()
        }
        guard let report else { return }
        try write(report)
        if report.count(.objection) > 0 { throw ExitCode(CommandStatus.failed.rawValue) }
    }

    /// The report; nil when something else was wanted and is printed.
    private func report(_ folder: ReviewFolder, _ logger: Logger) async throws -> ReviewReport? {
        let configured = try folder.business(business)
        if writeBrief {
            var brief = Brief(configured)
            if StandardStream.inputIsTerminal {
                let lines = InputLines()
                await brief.complete { question in
                    StandardStream.error.write(question + ": ")
                    return await lines.next()
                }
            }
            StandardStream.output.write(brief.json)
            return nil
        }
        let brief = try self.brief.map { path throws(CommandFailure) in try Self.read(path) } ?? Brief()
        var business = ReviewedBusiness(configured)
        if choice.config == nil { business.id = "" }
        let stored = try choice.config.map { try StoredConversations(config: $0, configured) }
        if conversations {
            let checks = ReviewCheck.all.filter { [4, 8, 16, 38].contains($0.number) }
            var evidence = Evidence(brief, business, try stored?.transcripts() ?? [])
            evidence.idleDays = try stored?.idleDays()
            return ReviewReport(checks, evidence)
        }
        if case .bound("http", _) = configured.handler, choice.handlerURL == nil, !yes {
            throw CommandFailure.unknownArgument(
                "the handler of \(terminalText(configured.slug))",
                reason: "is an HTTP service, which may place real orders",
                hint: "name a test address with --handler-url, or confirm with --yes")
        }
        if msp {
            let evidence = try await evidence(folder, brief, business, of: Feature.plays, logger)
            StandardStream.output.write(Feature.table(evidence, escaped: terminalText))
            return nil
        }
        let checks = script ? ReviewCheck.selected(by: "C36") ?? [] : only.isEmpty ? ReviewCheck.all : only
        let plays = Set(checks.flatMap(\.plays)).union(script ? [.useCases] : [])
        var evidence = try await evidence(folder, brief, business, of: plays, logger)
        evidence.idleDays = try stored?.idleDays()
        guard !script else {
            let script = ShootingScript(evidence, slug: configured.slug)
            StandardStream.output.write(script.text(escaped: terminalText) + "\n")
            return nil
        }
        return ReviewReport(checks, evidence)
    }

    /// Plays the scenes of some plays, those of the day and those of the night on a server each.
    private func evidence(
        _ folder: ReviewFolder, _ brief: Brief, _ business: ReviewedBusiness, of plays: Set<Play>,
        _ logger: Logger
    ) async throws -> Evidence {
        var run = ReviewRun(brief: brief, business: business)
        for isNight in business.hasPeople && plays.contains(.closed) ? [false, true] : [false] {
            let place = try await ReviewServer(
                folder.choice, business: self.business, isNight: isNight, logger)
            try await running {
                if isNight, !business.hasHours {
                    try await place.closeDesk(brief.closedText.isEmpty ? "We are closed." : brief.closedText)
                }
                await run.play(isNight ? plays : plays.subtracting([.closed]), on: place) { count in
                    if StandardStream.error.isTerminal {
                        StandardStream.error.write("\(count) scenes played\r")
                    }
                }
            } stop: {
                await place.server.stop()
            }
        }
        return try await run.evidence()
    }

    private static func read(_ path: String) throws(CommandFailure) -> Brief {
        let root = try CommandFile.json(path).root
        do throws(Brief.Mistake) { return try Brief(root) } catch {
            let (line, column) = error.value.position
            throw .malformed(path: terminalText("\(path):\(line):\(column)"), reason: error.reason)
        }
    }

    private func write(_ report: ReviewReport) throws {
        if let junit {
            var xml = JUnitReport()
            xml.add(report.business, report.results.map(\.scenarioResult))
            try CommandFile.write(xml.text, to: junit)
        }
        if let html { try CommandFile.write(report.html(escaped: \.htmlEscaped), to: html) }
        if json {
            StandardStream.output.write(terminalJSON(String(decoding: report.json, as: UTF8.self)) + "\n")
        } else {
            StandardStream.output.write(report.text(escaped: terminalText))
        }
    }
}

extension CheckResult {
    /// The result as JUnit knows it: an objection fails, and what was not tested is skipped.
    fileprivate var scenarioResult: ScenarioRun.Result {
        let words = findings.map { "\($0.verdict.rawValue): \($0.words)" }
        let verdict: ScenarioRun.Result.Verdict =
            switch self.verdict {
            case .objection: .failed(words)
            case .notTested: .skipped
            case .ok, .look, .advice: .passed
            }
        return ScenarioRun.Result(name: "\(check.id) \(check.title)", seconds: 0, verdict: verdict)
    }
}

extension Brief {
    /// The brief that a business's file gives; the rest is empty, to be completed.
    init(_ business: BusinessConfiguration) {
        self.init()
        brand = business.name
        domains = business.links.hosts.keys.sorted()
        let languages = business.languages.sorted()
        self.languages = (languages.isEmpty ? ["en"] : languages).map { LanguageCase(locale: $0) }
    }
}
