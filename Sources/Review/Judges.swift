/// The functions that judge the evidence of a review; each returns the findings of one check.
enum Judges {
    /// The longest first answer that Apple allows, and the one that leaves no reserve, in seconds.
    static let longestFirstAnswer = 5.0
    static let slowFirstAnswer = 3.0
    /// The longest text, in characters; this project's figure.
    static let longestText = 600
    /// The longest title of a choice, in characters; this project's figure.
    static let longestTitle = 30

    static func seconds(_ value: Double) -> String { "\((value * 10).rounded() / 10) s" }

    /// A text for a finding, shortened.
    static func short(_ text: String) -> String {
        let line = text.split(whereSeparator: \.isNewline).joined(separator: " ")
        return line.count > 80 ? String(line.prefix(79)) + "…" : line
    }

    /// The word lists for a scene's customer.
    static func words(of scene: Scene, _ evidence: Evidence) -> LanguageWords? {
        LanguageWords.of(scene.locale ?? evidence.brief.language)
    }

    static func declarations(_ evidence: Evidence) -> [Finding] {
        let (brief, business) = (evidence.brief, evidence.business)
        var findings: [Finding] = []
        if !business.hasPeople {
            findings.append(
                .objection(
                    "No person answers here. Apple refuses bot-only businesses: add \"people\" to the business's file."
                ))
        } else {
            let missing = ReviewPlan.personWords.filter { !business.words.contains($0) }
            if !missing.isEmpty {
                findings.append(
                    .objection(
                        "These words lead to no person: \(missing.joined(separator: ", ")). Add them to people.words."
                    ))
            }
        }
        if brief.hours.isEmpty { findings.append(.notTested("the brief has no \"hours\"")) }
        if brief.useCases.isEmpty { findings.append(.notTested("the brief has no \"useCases\"")) }
        for declaration in Brief.Declaration.allCases {
            switch brief.declarations[declaration] {
            case true: break
            case false: findings.append(.objection("The brief denies: \(declaration.words)"))
            case nil:
                findings.append(
                    .notTested(
                        "the brief has no declaration \"\(declaration.rawValue)\": \(declaration.words)"))
            }
        }
        return findings
    }

    static func recordings(_ evidence: Evidence) -> [Finding] {
        [.look("Record the scenes that --script lists, on a device.")]
    }

    static func entryPages(_ evidence: Evidence) -> [Finding] {
        let pages = evidence.brief.entryPages
        let missing: [Finding] = pages.isEmpty ? [.notTested("the brief has no \"entryPages\"")] : []
        let faults = pages.flatMap { page -> [Finding] in
            guard let bytes = evidence.files[page] else { return [.notTested("\(page) cannot be read")] }
            return entryFaults(String(decoding: bytes, as: UTF8.self).lowercased(), evidence.business.id)
                .map { .advice("\(page) \($0)") }
        }
        return missing + faults + [
            .look(
                "Look at the website: the button has Apple's style and title, is as large as other contacts, and is never dimmed."
            )
        ]
    }

    /// The faults of a page in small letters; Apple's script hides the button where Apple Messages is missing.
    private static func entryFaults(_ page: String, _ id: String) -> [String] {
        guard page.contains("data-apple-business-id") || page.contains("bcrw.apple.com/urn:biz:") else {
            return ["has no button of Apple Messages for Business."]
        }
        var faults: [String] = []
        if !page.contains(id.lowercased()) { faults.append("leads to another business than \(id).") }
        if !page.contains("businesschat/start-chat-button") {
            faults.append("has a link of its own: Apple's script hides it on devices that cannot use it.")
        }
        return faults
    }

    /// Days without a message after which a business should worry; two of Apple's three months.
    private static let longestSilence = 60

    static func idleness(_ evidence: Evidence) -> [Finding] {
        guard let days = evidence.idleDays else {
            return [
                .notTested(
                    "there is no stored conversation; --config names the configuration of the running server")
            ]
        }
        return days < longestSilence
            ? [] : [.advice("The last message is \(days) days old: write to the business from a device.")]
    }
}
