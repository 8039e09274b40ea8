/// One feature of an MSP's technical validation, and where a review showed it.
package struct Feature: Sendable {
    /// Whether Apple wants the feature from a side.
    enum Need: String, Sendable { case yes, optional, no }

    /// The number, such as 6 of `M6`.
    package let number: Int
    /// The feature.
    package let name: String
    let bot: Need
    let agent: Need
    /// The points to demonstrate.
    let show: String
    let botProof: @Sendable (Evidence) -> Finding.Quote?
    let agentProof: @Sendable (Evidence) -> Finding.Quote?

    /// Creates a feature; without a proof of its own for persons, the one for bots serves both sides.
    init(
        _ number: Int, _ name: String, bot: Need = .yes, agent: Need = .yes, show: String,
        by botProof: @escaping @Sendable (Evidence) -> Finding.Quote?,
        and agentProof: (@Sendable (Evidence) -> Finding.Quote?)? = nil
    ) {
        (self.number, self.name, self.bot, self.agent, self.show) = (number, name, bot, agent, show)
        (self.botProof, self.agentProof) = (botProof, agentProof ?? botProof)
    }

    /// The plays that show the features.
    package static let plays: Set<Play> = Set(Play.allCases).subtracting([
        .offScript, .silence, .memory, .notices, .consent, .closed, .stored,
    ])

    /// The evidence table as text: a line for each feature, with the scene that shows it.
    package static func table(_ evidence: Evidence, escaped: (String) -> String) -> String {
        var lines = ["FEATURE  BOT  AGENT  EVIDENCE"]
        for feature in all {
            let bot = state(feature.bot, feature.botProof(evidence))
            let agent = state(feature.agent, feature.agentProof(evidence))
            lines.append(
                "M\(feature.number)  \(feature.name)  bot: \(escaped(bot))  agent: \(escaped(agent))")
            lines.append("     show: \(feature.show)")
        }
        for turn in evidence.played(.features).flatMap(\.turns)
        where turn.actor == .agent && turn.refusal != nil {
            lines.append(escaped("refused: \(turn.action): \(turn.refusal ?? "")"))
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func state(_ need: Need, _ quote: Finding.Quote?) -> String {
        if need == .no { return "not needed" }
        guard let quote else { return need == .optional ? "optional, not shown" : "not shown" }
        return "shown in \"\(quote.scene)\", turn \(quote.turn + 1)"
    }
}
