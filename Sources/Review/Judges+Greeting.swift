import BalloonJSON
import BusinessMessages

extension Judges {
    static func firstAnswer(_ evidence: Evidence) -> [Finding] {
        evidence.played(.greeting).compactMap { transcript in
            guard let place = transcript.places.first else { return nil }
            guard let time = place.turn.firstAnswer else {
                return place.objection("The first message of a customer was not answered.")
            }
            if time > longestFirstAnswer {
                return place.objection("The first answer came after \(seconds(time)); Apple allows 5 s.")
            }
            return time > slowFirstAnswer
                ? place.advice("The first answer came after \(seconds(time)); 5 s leave no reserve.") : nil
        }
    }

    static func disclosure(_ evidence: Evidence) -> [Finding] {
        let first = evidence.played(.greeting).prefix(1) + evidence.played(.languages, .stored)
        var findings = first.compactMap { disclosure(of: $0, evidence) }
        for line in evidence.automaticLines {
            guard let words = words(of: line.place.transcript.scene, evidence),
                let claim = Words(line.line.words).first(of: words.claims)
            else { continue }
            findings.append(line.objection("A program says \"\(claim)\"."))
            break
        }
        return findings.uniqueByWords()
    }

    private static func disclosure(of transcript: Transcript, _ evidence: Evidence) -> Finding? {
        let automatic = { (place: Evidence.PlacedTurn) in
            place.turn.messages.filter { $0.author != .person }.map(\.words).joined(separator: "\n")
        }
        // A person may have begun the conversation, and needs no label.
        guard let place = transcript.places.first(where: { !automatic($0).isEmpty }) else {
            return nil
        }
        let locale = transcript.scene.locale ?? "en"
        guard let words = words(of: transcript.scene, evidence) else {
            return place.look(
                "The review knows no words of \(locale): does the greeting say that it is automated?")
        }
        return Words(automatic(place)).first(of: words.disclosure) == nil
            ? place.objection(
                "The greeting in \(locale) does not say that it is automated. Add for example: I'm an automated agent."
            ) : nil
    }

    static func menu(_ evidence: Evidence) -> [Finding] {
        guard let transcript = evidence.played(.greeting).first,
            let place = transcript.places.first
        else { return [] }
        guard let menu = place.turn.messages.prefix(3).first(where: { !$0.choices.isEmpty }) else {
            return [place.advice("The conversation begins without a menu: send a quick reply or a list.")]
        }
        let words = words(of: transcript.scene, evidence)
        let hasPerson = menu.choices.contains { Words($0).first(of: words?.persons ?? []) != nil }
        return hasPerson || words == nil ? [] : [place.advice("The menu offers no person.")]
    }

    static func typing(_ evidence: Evidence) -> [Finding] {
        var quotes: [Finding.Quote] = []
        var (count, missing) = (0, 0)
        for place in evidence.transcripts.flatMap(\.places) {
            for (index, line) in place.turn.lines.enumerated() where !line.isTyping && line.author != .person
            {
                count += 1
                let before = index > 0 ? place.turn.lines[index - 1] : nil
                let shown = before?.kind == .typingStart ? line.at - (before?.at ?? 0) : 0
                if shown >= 0.5, shown <= 10 { continue }
                missing += 1
                if quotes.count < 3, quotes.last != place.quote { quotes.append(place.quote) }
            }
        }
        guard missing > 0 else { return [] }
        return [
            .advice(
                "\(missing) of \(count) automatic messages appeared without a typing indicator of half a second or more.",
                quotes)
        ]
    }

    static func terms(_ evidence: Evidence) -> [Finding] {
        var findings: [Finding] = []
        for line in evidence.automaticLines {
            let text = line.line.text
            if text.count > longestText {
                findings.append(
                    line.objection("A text has \(text.count) characters: send a rich link, or less."))
            }
            if Words(text).has("data rates") {
                findings.append(line.objection("A text speaks of data rates, which Apple's channel has not."))
            }
        }
        for transcript in evidence.transcripts {
            let terms = transcript.places.filter { place in
                place.turn.messages.contains { isAboutTerms($0) }
            }
            if terms.count > 1, let again = terms.last {
                findings.append(again.objection("The terms are sent a second time."))
            }
        }
        return Array(findings.uniqueByWords().prefix(5))
    }

    static func isAboutTerms(_ line: Line) -> Bool {
        guard let title = line.link?["title"]?.string else { return false }
        let words = [
            "terms", "privacy", "datenschutz", "nutzungsbedingungen", "agb", "confidentialité", "conditions",
            "privacidad", "condiciones",
        ]
        return Words(title).first(of: words) != nil
    }

    static func links(_ evidence: Evidence) -> [Finding] {
        var findings: [Finding] = []
        for line in evidence.lines {
            if let link = PlainLink.first(in: line.line.text, hosts: evidence.brief.domains) {
                findings.append(
                    line.objection(
                        "The text has the link \(short(link)). The device shows it without a preview: send a rich link."
                    ))
            }
            guard let link = line.line.link else { continue }
            findings += richLink(link, evidence, line.quote)
        }
        return Array(findings.uniqueByWords().prefix(8))
    }

    private static func richLink(_ link: JSONValue, _ evidence: Evidence, _ quote: Finding.Quote) -> [Finding]
    {
        var findings: [Finding] = []
        let (url, title) = (link["url"]?.string ?? "", link["title"]?.string ?? "")
        if !url.lowercased().hasPrefix("https://") {
            findings.append(.objection("The link \(short(url)) does not begin with https://.", [quote]))
        }
        if link["assets"]?["image"] == nil {
            findings.append(.advice("The rich link \(short(url)) has no picture.", [quote]))
        }
        let plain = title.lowercased()
        let names = [evidence.brief.brand, evidence.business.name].map { $0.lowercased() }.filter {
            !$0.isEmpty
        }
        if plain.isEmpty || names.contains(plain)
            || PlainLink.first(in: title, hosts: evidence.brief.domains) != nil
        {
            findings.append(
                .advice(
                    "The title of the rich link says \"\(short(title))\": name what the page has.", [quote]))
        }
        return findings
    }
}
