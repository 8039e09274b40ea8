/// The recordings for Apple: the scenes, what to type, and what must be seen.
package struct ShootingScript: Sendable {
    private let evidence: Evidence
    private let slug: String

    /// Creates the script of a business from a review of check 36.
    package init(_ evidence: Evidence, slug: String) {
        self.evidence = evidence
        self.slug = slug
    }

    /// The script as text.
    package func text(escaped: (String) -> String) -> String {
        let scenes = [basic] + buttons + useCases + [person, night, returning]
        let lines = scenes.enumerated().flatMap { index, scene in
            ["Scene \(index + 1): \(escaped(scene.name))"] + scene.lines.map { "  " + escaped($0) } + [""]
        }
        return (opening + lines).joined(separator: "\n")
    }

    private struct Shot {
        let name: String
        var lines: [String] = []
    }

    private var opening: [String] {
        [
            "Recordings for the review of \(evidence.business.name)", "",
            "Record the screen of an iPhone with a test account, without other notifications. Show one scene in each recording.",
            "The words behind \"see\" are those of this rehearsal.", "",
        ]
    }

    private var greeting: Transcript? { evidence.played(.greeting).first }

    private var basic: Shot {
        Shot(name: "the first conversation", lines: exchange((greeting?.turns ?? []).prefix(1)))
    }

    private var buttons: [Shot] {
        evidence.played(.buttons).map { Shot(name: $0.scene.name, lines: exchange($0.turns[...])) }
    }

    private var useCases: [Shot] {
        evidence.played(.useCases).map { Shot(name: $0.scene.name, lines: exchange($0.turns[...])) }
    }

    private var person: Shot {
        let agent = evidence.brief.agent(second: false)
        return Shot(
            name: "a person takes over",
            lines: [
                "type  \(evidence.brief.hello)", "type  help",
                "see   the transfer is announced, with the expected wait",
                "do    \(agent.name) claims the conversation and writes: \(agent.says.first ?? "a greeting with the name")",
                "see   the name in the first message",
            ])
    }

    private var night: Shot {
        let text =
            evidence.brief.closedText.isEmpty ? "We answer tomorrow from 9." : evidence.brief.closedText
        let asked = evidence.played(.closed).first?.turns ?? []
        return Shot(
            name: "outside the hours",
            lines: ["do    balloon people close \(slug) --text '\(text)'"] + exchange(asked[...])
                + ["do    balloon people open \(slug)"])
    }

    private var returning: Shot {
        let last = (evidence.played(.returning).first?.turns ?? []).suffix(1)
        return Shot(
            name: "the customer returns",
            lines: ["do    close the conversation of the first scene in the inbox"] + exchange(last)
                + ["see   a greeting that differs from the first one"])
    }

    private func exchange(_ turns: ArraySlice<Turn>) -> [String] {
        turns.flatMap { turn -> [String] in
            let verb = turn.actor == .customer ? turn.step?.verb ?? "type" : "do"
            return ["\(verb)\(String(repeating: " ", count: 6 - verb.count))\(turn.action)"]
                + turn.messages.map { line in
                    let choices = line.choices.isEmpty ? "" : " [\(line.choices.joined(separator: " | "))]"
                    return "see   \(line.kind): \(Judges.short(line.words))\(choices)"
                }
        }
    }
}

extension Step {
    /// The verb of an action in a script.
    fileprivate var verb: String {
        switch self {
        case .choose, .answer, .end: "tap"
        default: "type"
        }
    }
}
