import ArgumentParser
import BalloonJSON
import BalloonPOSIX
import MessageServer
import RetentionClient
import RetentionMessages

/// `balloon retention rehearse`: Apple's performance test, run by the simulated App Store of `balloon dev`.
struct RetentionRehearsal: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rehearse",
        abstract: "Run Apple's performance test against balloon dev, and say whether it would pass.",
        discussion: """
            Needs --data and an earlier apply. Fails when fewer than 95 % of 100 questions are answered within 500 ms with a message, and \
            when the app's handler decided fewer than 95 % of them, although the rule file answered instead. With a real-time URL \
            (balloon retention url --data DIR --set URL) the test asks that server, which must have DIR/app-store-root.cer as its \
            rootFile; then the handler's part is not known.
            """)

    @OptionGroup var options: RetentionOptions

    @Flag(
        help: ArgumentHelp(
            "Count an answer without a message as a success, as Apple does.",
            discussion: "The App Store then shows the default message."))
    var allowEmpty = false

    /// The time within which the server reads the states of an apply that has just ended.
    private static let stateTime = Duration.milliseconds(2500)
    /// The longest wait for the result; the test itself ends after a minute.
    private static let patience = Duration.seconds(90)

    func validate() throws {
        if options.data == nil { throw ValidationError("--data names the data directory of balloon dev.") }
        if options.environment != "sandbox" { throw ValidationError("The test runs in the sandbox only.") }
    }

    func run() async throws {
        let target = try options.target()
        let file = DecisionTally.path(directory: target.directory, app: target.app.slug)
        try await Task.sleep(for: Self.stateTime)
        let before = DecisionTally.bytes(of: file).count
        let started = try await target.api.startPerformanceTest(originalTransactionID: "2000000000000001")
        guard let id = started["requestId"]?.string.flatMap({ RetentionID($0) }) else {
            throw RetentionAPIError.unreadable
        }
        let end = ContinuousClock.now + Self.patience
        var result = try await target.api.performanceTest(id)
        while result["result"]?.string == "PENDING", ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(200))
            result = try await target.api.performanceTest(id)
        }
        let isLocal = try await target.api.realtimeURL() == nil
        var tally = DecisionTally()
        if isLocal, target.app.handler != nil {
            // Wait for the records, because a decision is recorded only after its answer.
            let total = result["config"]?["totalRequests"]?.int ?? 0
            repeat {
                tally = DecisionTally(DecisionTally.bytes(of: file).dropFirst(before))
                if tally.count >= total { break }
                try await Task.sleep(for: .milliseconds(100))
            } while ContinuousClock.now < end
        }
        let verdict = RehearsalVerdict(
            result, tally: isLocal && target.app.handler != nil ? tally : nil,
            budget: target.app.budget, allowsEmpty: allowEmpty)
        StandardStream.output.write(verdict.text)
        if !verdict.isPassed { throw ExitCode(CommandStatus.failed.rawValue) }
    }
}

/// The numbers of recorded decisions, by their source.
struct DecisionTally: Equatable {
    /// The number of answers that the handler chose.
    var handler = 0
    /// The number of decisions without the handler's answer, by the name of the failure.
    var failures: [String: Int] = [:]
    /// The number of all decisions.
    var count = 0

    /// The number of decisions without a failure, including those that the handler left to the rules.
    var inTime: Int { count - failures.values.reduce(0, +) }

    init() {}

    /// Counts lines of JSON; skips an incomplete last line.
    init(_ lines: some Collection<UInt8>) {
        for line in lines.split(separator: UInt8(ascii: "\n")) {
            guard let root = (try? JSONDocument(Array(line)))?.root else { continue }
            count += 1
            if root["source"]?.string == "handler" { handler += 1 }
            if let failure = root["handler"]?.string { failures[failure, default: 0] += 1 }
        }
    }

    /// The path of today's records.
    static func path(directory: String, app: String) -> String {
        "\(directory)/retention/\(app)/decisions-\(Timestamp.now().rfc3339.prefix(10)).jsonl"
    }

    /// The content of a file; empty when it does not exist yet.
    static func bytes(of path: String) -> [UInt8] {
        // An absent file counts as empty. An unreadable file does too, and the missing decisions fail the
        // rehearsal.
        (try? File(path, for: .reading).readAll(maximumBytes: 256 << 20)) ?? []
    }
}

/// The result of a rehearsal, for people.
struct RehearsalVerdict {
    let isPassed: Bool
    let text: String

    /// Judges the result of a performance test; with a `tally`, also the share of the handler.
    ///
    /// Unless `allowsEmpty`, an answer without a message counts as a failed question.
    init(_ result: JSONValue, tally: DecisionTally?, budget: Duration, allowsEmpty: Bool = false) {
        let total = result["config"]?["totalRequests"]?.int ?? 0
        let threshold = result["config"]?["responseTimeThreshold"]?.int ?? 0
        let needed = result["config"]?["successRateThreshold"]?.int ?? 100
        let rate = result["successRate"]?.int ?? 0
        var lines = [
            "\(rate) % of \(total) questions answered within \(threshold) ms; Apple wants \(needed) %"
        ]
        let times = ["average", "p50", "p90", "p95", "p99"].map { name in
            "\(name) \(result["responseTimes"]?[name]?.int ?? 0) ms"
        }
        lines.append(times.joined(separator: ", "))
        var reasons: [String] = []
        if let failures = result["failures"] {
            for (name, count) in failures.members { reasons.append("\(name): \(count.int ?? 0) questions") }
        }
        var isPassed = result["result"]?.string == "PASS"
        if isPassed { reasons = [] }
        let empty = result["emptyAnswers"]?.int ?? 0
        if empty > 0 { lines.append("answers without a message: \(empty)") }
        if !allowsEmpty, empty > 0, rate - (empty * 100 + total - 1) / max(total, 1) < needed {
            isPassed = false
            reasons.append(
                "\(empty) answers named no message, so the App Store would show the default message; check the states (balloon retention status) and the rules, or give --allow-empty"
            )
        }
        if result["result"]?.string == "PENDING" { reasons.append("the test did not end") }
        if let tally {
            lines.append(
                "decided by the handler: \(tally.handler), left to the rules: \(tally.inTime - tally.handler)"
            )
            if tally.inTime * 100 < needed * max(total, 1) {
                isPassed = false
                reasons += tally.failures.sorted { $0.key < $1.key }.map { name, count in
                    Self.reason(name, count, total, budget)
                }
                if tally.failures.isEmpty {
                    reasons.append("\(total - tally.count) decisions were not recorded")
                }
            }
        }
        lines += reasons.map { "because: \($0)" }
        lines.append(isPassed ? "PASS" : "FAIL")
        self.isPassed = isPassed
        text = lines.map { terminalText($0) + "\n" }.joined()
    }

    private static func reason(_ failure: String, _ count: Int, _ total: Int, _ budget: Duration) -> String {
        let part = "in \(count) of \(total) questions, so the rules answered"
        switch failure {
        case "late":
            return
                "the handler did not answer within \(Int(budget / .milliseconds(1))) ms (budgetMilliseconds) \(part)"
        case "invalid": return "the handler named a message that the App Store would not show \(part)"
        case "busy": return "all slots of the handler were taken (concurrency) \(part)"
        default: return "the handler failed or was not running \(part)"
        }
    }
}
