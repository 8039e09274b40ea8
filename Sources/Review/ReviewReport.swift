import BalloonJSON
import BusinessMessages

/// The results of a review, with the transcripts that show them.
package struct ReviewReport: Sendable {
    /// The name of the reviewed business.
    package let business: String
    /// The results in the order of the checks.
    package let results: [CheckResult]
    /// The scenes as they were played.
    package let transcripts: [Transcript]

    /// Judges evidence by checks.
    package init(_ checks: [ReviewCheck], _ evidence: Evidence) {
        business = evidence.business.name
        results = checks.map { $0.result(evidence) }
        transcripts = evidence.transcripts
    }

    /// The number of checks with this heaviest verdict.
    package func count(_ verdict: Finding.Verdict) -> Int { results.count { $0.verdict == verdict } }

    /// The sentence at the end of each rendering; a review never promises Apple's decision.
    package var summary: String {
        let counts = Finding.Verdict.allCases.map { "\(count($0)) \($0.rawValue)" }.joined(separator: ", ")
        return
            "\(results.count) checks: \(counts). Apple decides; this rehearsal only looks for known objections."
    }

    func turn(_ quote: Finding.Quote) -> Turn? {
        guard let transcript = transcripts.first(where: { $0.scene.name == quote.scene }),
            transcript.turns.indices.contains(quote.turn)
        else { return nil }
        return transcript.turns[quote.turn]
    }

    /// The report as lines of text; `escaped` makes text from outside safe for a terminal.
    package func text(escaped: (String) -> String) -> String {
        var lines: [String] = []
        for result in results {
            let name = result.check.id + String(repeating: " ", count: 4 - result.check.id.count)
            lines.append("\(Self.mark(result.verdict)) \(name) \(result.check.title)")
            for finding in result.findings {
                lines.append("               \(finding.verdict.rawValue): \(escaped(finding.words))")
                for quote in finding.quotes.prefix(3) {
                    guard let turn = turn(quote) else { continue }
                    lines.append("                 \(escaped(Self.line(quote, turn)))")
                }
            }
            if result.verdict >= .advice {
                lines.append(
                    "               \(result.check.requirements.joined(separator: " ")): \(result.check.source) (\(result.check.certainty.rawValue))"
                )
            }
        }
        return lines.joined(separator: "\n") + "\n" + summary + "\n"
    }

    private static func mark(_ verdict: Finding.Verdict) -> String {
        let word = verdict == .objection ? "OBJECTION" : verdict.rawValue
        return word + String(repeating: " ", count: max(0, 10 - word.count))
    }

    private static func line(_ quote: Finding.Quote, _ turn: Turn) -> String {
        let answers = turn.messages.prefix(3).map { "\(time($0.at)) \(Judges.short($0.words))" }
        let rest = answers.isEmpty ? "no message" : answers.joined(separator: " | ")
        return
            "\(quote.scene), \(time(turn.at)) \(turn.actor.rawValue): \(Judges.short(turn.action)) -> \(rest)"
    }

    static func time(_ seconds: Double) -> String { Judges.seconds(seconds) }

    /// The report as one JSON object.
    package var json: [UInt8] {
        JSONWriter.object(reservingCapacity: 1 << 16) { writer in
            writer.fields(["format": 1, "business": business])
            writer.object("counts") { writer in
                for verdict in Finding.Verdict.allCases { writer.field(verdict.rawValue, count(verdict)) }
            }
            writer.objects("checks", results) { result, writer in write(result, to: &writer) }
            writer.objects("scenes", transcripts) { Self.write($0, to: &$1) }
        }
    }

    private func write(_ result: CheckResult, to writer: inout JSONWriter) {
        writer.fields([
            "id": result.check.id, "title": result.check.title, "verdict": result.verdict.rawValue,
            "requirements": result.check.requirements, "source": result.check.source,
            "certainty": result.check.certainty.rawValue,
        ])
        writer.objects("findings", result.findings) { finding, writer in
            writer.fields(["verdict": finding.verdict.rawValue, "words": finding.words])
            writer.objects("quotes", finding.quotes) { quote, writer in
                writer.fields(["scene": quote.scene, "turn": quote.turn])
            }
        }
    }

    static func write(_ transcript: Transcript, to writer: inout JSONWriter) {
        writer.field("name", transcript.scene.name)
        writer.field("device", transcript.scene.device.rawValue)
        writer.field("locale", transcript.scene.locale)
        writer.field("failure", transcript.failure)
        writer.objects("turns", transcript.turns) { turn, writer in
            writer.fields([
                "at": turn.at, "by": turn.actor.rawValue, "action": turn.action, "state": turn.state,
                "refusal": turn.refusal,
            ])
            if !turn.undelivered.isEmpty { writer.list("undelivered", turn.undelivered) }
            writer.objects("messages", turn.lines) { line, writer in
                writer.fields([
                    "at": line.at, "author": line.author.rawValue, "person": line.person,
                    "kind": line.kind.rawValue, "autoReply": line.isAutomatic, "words": line.words,
                ])
                if !line.choices.isEmpty { writer.list("choices", line.choices) }
            }
        }
    }
}
