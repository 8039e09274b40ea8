/// One row of the review: what Apple or a vendor expects, where that is written, what is played, and how it is judged.
package struct ReviewCheck: Sendable {
    /// How well an expectation is established.
    package enum Certainty: String, Sendable {
        /// Apple's own text.
        case apple = "Apple"
        /// Apple's current text, as readers of it quote it.
        case quoted = "Apple, quoted"
        /// The lists of several vendors.
        case vendors = "vendors"
        /// The list of one vendor, or press.
        case vendor = "one vendor"
        /// An inference of this project.
        case inference = "inferred"
    }

    /// The number.
    package let number: Int
    /// The expectation.
    package let title: String
    /// The names of the requirements, as the page of the manual lists them.
    package let requirements: [String]
    /// The documents that have the expectation.
    package let source: String
    /// How well it is established.
    package let certainty: Certainty
    /// The parts of the review that are played for the check.
    package let plays: [Play]
    /// The findings; none means that nothing is wrong.
    let judge: @Sendable (Evidence) -> [Finding]

    init(
        _ number: Int, _ title: String, _ requirements: String, from source: String, _ certainty: Certainty,
        _ plays: [Play], _ judge: @escaping @Sendable (Evidence) -> [Finding]
    ) {
        self.number = number
        self.title = title
        self.requirements = requirements.split(separator: " ").map(String.init)
        self.source = source
        self.certainty = certainty
        self.plays = plays
        self.judge = judge
    }

    /// The name, such as `C3`.
    package var id: String { "C\(number)" }

    /// The result of the check: its findings, the heaviest first.
    package func result(_ evidence: Evidence) -> CheckResult {
        if !plays.isEmpty, evidence.transcripts.isEmpty {
            return CheckResult(check: self, findings: [.notTested("there is no conversation")])
        }
        var findings = judge(evidence)
        let failed = evidence.transcripts.filter { plays.contains($0.scene.play) && $0.failure != nil }
        findings += failed.prefix(3).map {
            .notTested("the scene \"\($0.scene.name)\" ended early: \($0.failure ?? "")")
        }
        return CheckResult(check: self, findings: findings.sorted { $1.verdict < $0.verdict })
    }
}

/// The findings of a check.
package struct CheckResult: Sendable {
    /// The check.
    package let check: ReviewCheck
    /// The findings, the heaviest first.
    package let findings: [Finding]

    /// The heaviest verdict.
    package var verdict: Finding.Verdict { findings.first?.verdict ?? .ok }
}
