import BalloonJSON
import BusinessMessages

extension Judges {
    static func bubbles(_ evidence: Evidence) -> [Finding] {
        var findings: [Finding] = []
        for line in evidence.lines where line.line.isQuestion { findings += bubble(line.line, line.quote) }
        return Array(findings.uniqueByWords().prefix(8))
    }

    private static func bubble(_ line: Line, _ quote: Finding.Quote) -> [Finding] {
        var faults: [String] = []
        let name = line.words.isEmpty ? "\(line.kind)" : "\(line.kind) \"\(short(line.words))\""
        if line.kind != .quickReply {
            if line.bubble?["title"]?.string?.isEmpty ?? true { faults.append("The \(name) has no title.") }
            if line.bubble?["imageIdentifier"] == nil, line.kind != .app {
                faults.append("The \(name) has no picture: it is hard to see that it can be tapped.")
            }
            if line.replyBubble == nil, line.kind != .app {
                faults.append("The \(name) has no bubble for the answer.")
            }
        }
        faults += line.choices.filter { $0.count > longestTitle }.map {
            "The choice \"\(short($0))\" has \($0.count) characters; small screens cut it."
        }
        if hasPlaceholder(line.words) || line.choices.contains(where: hasPlaceholder) {
            faults.append("The \(name) has a placeholder.")
        }
        let pictures: Set<MessageRule> = [.imagePixels, .imageResolution, .imageReference, .imageFormat]
        let problems = OutboundMessage.problems(in: line.message).filter { pictures.contains($0.rule) }
        faults += problems.prefix(1).map { "The picture of the \(name): \($0)" }
        return faults.map { .advice($0, [quote]) }
    }

    private static func hasPlaceholder(_ text: String) -> Bool {
        guard let open = text.firstIndex(of: "{"), let close = text[open...].firstIndex(of: "}") else {
            return false
        }
        let name = text[text.index(after: open)..<close]
        return !name.isEmpty && name.allSatisfy { $0.isLetter || $0.isNumber || "_.{ ".contains($0) }
    }

    static func devices(_ evidence: Evidence) -> [Finding] {
        evidence.played(.devices).flatMap { transcript in
            transcript.places.compactMap { place -> Finding? in
                let device = transcript.scene.device.rawValue
                if let reason = place.turn.undelivered.first {
                    return place.objection("The device \(device) does not get an answer: \(short(reason)).")
                }
                return place.turn.isUnanswered
                    ? place.objection(
                        "The device \(device) gets no answer to \"\(short(place.turn.action))\".")
                    : nil
            }
            .prefix(1)
        }
    }

    /// Words of programs' errors, which no customer may read.
    private static let internals = [
        "exception", "traceback", "undefined", "null", "nan", "stack trace", "internal server error", "nil",
    ]

    static func faults(_ evidence: Evidence) -> [Finding] {
        evidence.turns(.faults).compactMap { place in
            guard place.turn.actor == .customer else { return nil }
            if place.turn.messages.isEmpty {
                return place.objection("The customer reads nothing: \(place.transcript.scene.name).")
            }
            return Words(place.turn.words).first(of: internals).map {
                place.objection("The customer reads \"\($0)\" of a program's error.")
            }
        }
    }

    static func files(_ evidence: Evidence) -> [Finding] {
        evidence.played(.files).compactMap { transcript in
            guard let place = transcript.places.last, place.index > 0 else { return nil }
            let isReaction = transcript.scene.steps.contains {
                if case .react = $0 { true } else { false }
            }
            if isReaction {
                return place.turn.messages.isEmpty
                    ? nil
                    : place.objection(
                        "\(transcript.scene.name) made the bot write: \"\(short(place.turn.words))\".")
            }
            return place.turn.isUnanswered
                ? place.objection("A customer's file is answered by silence (\(transcript.scene.name)).")
                : nil
        }
    }

    static func personalData(_ evidence: Evidence) -> [Finding] {
        var findings: [Finding] = []
        for transcript in evidence.transcripts {
            guard let words = words(of: transcript.scene, evidence) else { continue }
            var mayAsk = false
            for place in transcript.places {
                // The text before a yes or no names the data that it is about.
                if place.turn.messages.contains(where: isYesOrNo) { mayAsk = true }
                for line in place.turn.messages where line.author != .person {
                    let text = asked(line)
                    guard !text.isEmpty else { continue }
                    if line.kind == .text, let secret = Words(text).first(of: words.secrets) {
                        findings.append(place.objection("A text asks for a secret: \(secret)."))
                    }
                    if !mayAsk, let data = Words(text).first(of: words.personal) {
                        findings.append(
                            place.objection("Asks for personal data (\(data)) without a yes or no before it.")
                        )
                    }
                }
            }
        }
        return Array(findings.uniqueByWords().prefix(5))
    }

    private static func isYesOrNo(_ line: Line) -> Bool {
        guard line.kind == .quickReply, line.choices.count == 2 else { return false }
        return line.choices.contains { Words($0).first(of: ["no", "nein", "non", "nee", "não"]) != nil }
    }

    /// The words of a line that asks for something; empty for one that asks nothing.
    private static func asked(_ line: Line) -> String {
        if line.kind == .form {
            let pages = line.data?["dynamic"]?["data"]?["pages"]?.elements.map(\.self) ?? []
            return pages.map {
                [$0["title"]?.string, $0["subtitle"]?.string].compactMap(\.self).joined(separator: " ")
            }
            .joined(separator: "\n")
        }
        let text = line.text
        let requests = ["?", "please", "bitte", "s'il vous plaît", "por favor"]
        return requests.contains { text.lowercased().contains($0) } ? text : ""
    }

    static func languages(_ evidence: Evidence) -> [Finding] {
        guard !evidence.brief.languages.isEmpty else { return [.notTested("the brief has no \"languages\"")] }
        var findings: [Finding] = []
        for transcript in evidence.played(.languages, .closed) {
            let locale = transcript.scene.locale ?? "en"
            for place in transcript.places {
                let text = place.turn.messages.map { $0.text }.joined(separator: "\n")
                if let found = LanguageWords.detect(text), found != LanguageWords.key(locale) {
                    findings.append(place.objection("\(locale) reads a text in the language \(found)."))
                }
            }
        }
        for language in evidence.brief.languages where !language.expect.isEmpty {
            guard
                let transcript = evidence.played(.languages).first(where: {
                    $0.scene.locale == language.locale
                }),
                let place = transcript.places.first
            else { continue }
            let words = place.turn.messages.flatMap { [$0.words] + $0.choices }.joined(separator: "\n")
            if !words.lowercased().contains(language.expect.lowercased()) {
                findings.append(
                    place.objection(
                        "The greeting in \(language.locale) has not the expected words \"\(language.expect)\"."
                    ))
            }
        }
        return findings.uniqueByWords()
    }

    static func paths(_ evidence: Evidence) -> [Finding] {
        var findings: [Finding] = []
        if evidence.brief.useCases.isEmpty { findings.append(.notTested("the brief has no \"useCases\"")) }
        for transcript in evidence.played(.useCases, .buttons) {
            let name = transcript.scene.name
            let dead = transcript.places.first {
                $0.turn.actor == .customer && $0.turn.isUnanswered
            }
            if let dead {
                findings.append(
                    dead.objection("\(name) leads nowhere: \"\(short(dead.turn.action))\" is not answered."))
            }
        }
        for use in evidence.brief.useCases {
            let name = "use case: \(use.name.isEmpty ? use.words : use.name)"
            guard let transcript = evidence.transcripts.first(where: { $0.scene.name == name }) else {
                continue
            }
            let kinds = Set(transcript.messages.map { $0.link == nil ? $0.kind.rawValue : "richLink" })
            let missing = use.expect.filter { !kinds.contains($0) }
            if !missing.isEmpty {
                findings.append(
                    .objection(
                        "\(name): these kinds did not appear: \(missing.joined(separator: ", ")).",
                        transcript.places.suffix(1).map(\.quote)))
            }
        }
        return findings
    }

    static func tone(_ evidence: Evidence) -> [Finding] {
        var findings: [Finding] = []
        for line in evidence.automaticLines {
            let text = line.line.words
            let marks = ["**", "__", "](", "<b>", "<br", "</", "&nbsp;", "```"]
            if let mark = marks.first(where: text.contains) {
                findings.append(line.look("Markup is visible (\(mark)): \"\(short(text))\"."))
            } else if hasPlaceholder(text) {
                findings.append(line.look("A placeholder is visible: \"\(short(text))\"."))
            }
            let letters = text.filter(\.isLetter)
            if letters.count > 12, letters.allSatisfy(\.isUppercase) {
                findings.append(line.look("Capitals shout: \"\(short(text))\"."))
            }
        }
        if findings.isEmpty {
            findings.append(.look("Read the texts: are they short, friendly and free of jargon?"))
        }
        return Array(findings.uniqueByWords().prefix(5))
    }

    static func brand(_ evidence: Evidence) -> [Finding] {
        var findings: [Finding] = []
        let brand = evidence.brief.brand
        if brand.isEmpty { findings.append(.notTested("the brief has no \"brand\"")) }
        for line in evidence.automaticLines {
            let text = line.line.words
            let words = Words(text)
            if let name = ["imessage", "whatsapp", "sms", "business chat"].first(where: words.has) {
                findings.append(
                    line.objection("A text says \"\(name)\"; the channel is Apple Messages for Business."))
            }
            if !brand.isEmpty, !text.contains(brand), text.lowercased().contains(brand.lowercased()) {
                findings.append(
                    line.objection("The brand is registered as \"\(brand)\", and spelled otherwise."))
            }
        }
        return Array(findings.uniqueByWords().prefix(5))
    }
}
