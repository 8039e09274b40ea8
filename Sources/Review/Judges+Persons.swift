extension Judges {
    /// The turn of a customer's word for a person, judged.
    private static func wordFinding(_ place: Evidence.PlacedTurn, _ fault: (String) -> Finding) -> Finding? {
        let turn = place.turn
        let name = "\"\(short(turn.action))\""
        let isWithPerson = turn.state == "waiting" || turn.state == "person"
        if !isWithPerson { return fault("After \(name) the bot continues, and no person is asked.") }
        guard let first = turn.firstAnswer else { return fault("After \(name) the customer reads nothing.") }
        if first > longestFirstAnswer {
            return fault("After \(name) the answer came after \(seconds(first)).")
        }
        let hand = turn.messages.firstIndex { $0.author == .server } ?? 0
        return turn.messages.dropFirst(hand + 1).contains { $0.author == .handler }
            ? fault("After \(name) the bot writes, although the customer waits for a person.") : nil
    }

    private static func says(_ text: String, _ place: Evidence.PlacedTurn) -> Bool {
        place.turn.actor == .customer && place.turn.action == text && place.index > 0
    }

    private static func place(
        saying text: String, _ evidence: Evidence, locale: String? = nil
    ) -> Evidence.PlacedTurn? {
        evidence.turns(.words).first {
            says(text, $0) && (locale == nil || $0.transcript.scene.locale == locale)
        }
    }

    static func words(_ evidence: Evidence) -> [Finding] {
        ReviewPlan.personWords.compactMap { place(saying: $0, evidence) }.compactMap { place in
            wordFinding(place) { place.objection($0) }
        }
    }

    static func spellings(_ evidence: Evidence) -> [Finding] {
        let phrases = ReviewPlan.personPhrases.compactMap { phrase -> Finding? in
            guard let place = place(saying: phrase, evidence) else { return nil }
            // Apple's words alone must lead to a person; a sentence with one of them should.
            let isSentence = phrase.trimmedWords > 1
            return wordFinding(place) { isSentence ? place.advice($0) : place.objection($0) }
        }
        let languages = evidence.brief.languages.filter { !$0.help.isEmpty }.compactMap {
            language -> Finding? in
            guard let place = place(saying: language.help, evidence, locale: language.locale) else {
                return nil
            }
            return wordFinding(place) { place.objection("\(language.locale): \($0)") }
        }
        guard evidence.business.hasMenu else { return phrases + languages }
        let menus = ReviewPlan.menuWords.compactMap { word -> Finding? in
            guard let place = place(saying: word, evidence), place.turn.messages.allSatisfy(\.choices.isEmpty)
            else { return nil }
            return place.objection("\"\(word)\" shows no menu.")
        }
        return phrases + languages + menus
    }

    static func stuck(_ evidence: Evidence) -> [Finding] {
        let places = evidence.turns(.stuck, .faults).filter { says("help", $0) }
        var findings = places.compactMap { place in
            wordFinding(place) { place.objection("\($0) (\(place.transcript.scene.name))") }
        }
        if evidence.played(.stuck).isEmpty {
            findings.append(.notTested("no scene reached a question: add use cases to the brief that do"))
        }
        return findings
    }

    static func offScript(_ evidence: Evidence) -> [Finding] {
        evidence.played(.offScript).flatMap { transcript -> [Finding] in
            let places = transcript.places.dropFirst()
            let words = words(of: transcript.scene, evidence)
            let offersPerson = { (place: Evidence.PlacedTurn) in
                place.turn.state == "waiting" || place.turn.state == "person"
                    || place.turn.messages.contains { line in
                        ([line.words] + line.choices).contains {
                            Words($0).first(of: words?.persons ?? []) != nil
                        }
                    }
            }
            let second = places.prefix(2)
            if let silent = second.first(where: { $0.turn.isUnanswered }) {
                return [silent.objection("\"\(short(silent.turn.action))\" is not answered.")]
            }
            guard !second.contains(where: offersPerson) else { return [] }
            let texts = places.map(\.turn.words)
            let isLoop = texts.count > 2 && Set(texts).count == 1
            return [
                .objection(
                    isLoop
                        ? "\(texts.count) times the same answer, and no person offered (\(transcript.scene.name))."
                        : "No person offered by the second line that the bot does not understand (\(transcript.scene.name)).",
                    places.prefix(3).map(\.quote))
            ]
        }
    }

    static func handOff(_ evidence: Evidence) -> [Finding] {
        var findings: [Finding] = []
        for transcript in evidence.transcripts where transcript.scene.play != .closed {
            var before: String?
            for place in transcript.places {
                defer { before = place.turn.state ?? before }
                guard place.turn.actor == .customer, place.turn.state == "waiting", before != "waiting" else {
                    continue
                }
                guard let words = words(of: transcript.scene, evidence) else { continue }
                let text = Words(place.turn.words)
                if place.turn.messages.isEmpty || text.first(of: words.persons) == nil {
                    findings.append(place.objection("The transfer to a person is not announced."))
                } else if !text.hasNumber, text.first(of: words.times) == nil {
                    findings.append(place.advice("The transfer names no waiting time."))
                }
            }
        }
        return Array(findings.prefix(3))
    }

    static func night(_ evidence: Evidence) -> [Finding] {
        if evidence.played(.closed).isEmpty { return [.notTested("the business's file has no \"people\"")] }
        guard evidence.business.hasHours || !evidence.brief.closedText.isEmpty else {
            return [.notTested("the file has no \"hours\", and the brief no \"closedText\"")]
        }
        return evidence.played(.closed).compactMap { transcript -> Finding? in
            guard let place = transcript.places.last(where: { $0.turn.actor == .customer })
            else { return nil }
            guard let words = words(of: transcript.scene, evidence) else {
                return place.look("Does the night text say when a person answers?")
            }
            let text = Words(place.turn.words)
            if let promise = text.first(of: words.minutes) {
                return place.objection("The night text promises \"\(promise)\". Say when a person answers.")
            }
            return text.hasNumber || text.first(of: words.times) != nil
                ? nil : place.objection("The night text does not say when a person answers.")
        }
        .uniqueByWords()
    }

    static func nightEntry(_ evidence: Evidence) -> [Finding] {
        if evidence.played(.closed).isEmpty { return [.notTested("the business's file has no \"people\"")] }
        return evidence.played(.closed).compactMap { transcript in
            guard let place = transcript.places.first else { return nil }
            guard let time = place.turn.firstAnswer else {
                return place.objection("The first message is not answered (\(transcript.scene.name)).")
            }
            return time > longestFirstAnswer
                ? place.objection("The first answer came after \(seconds(time)) (\(transcript.scene.name)).")
                : nil
        }
    }

    static func persons(_ evidence: Evidence) -> [Finding] {
        let hasScript = evidence.brief.agents.contains { !$0.says.isEmpty }
        guard hasScript || !evidence.played(.stored).isEmpty else {
            return [.notTested("the brief has no \"agents\" with the texts that they write")]
        }
        var findings: [Finding] = []
        for transcript in evidence.played(.person, .stored) {
            findings += introductions(transcript.places)
        }
        return findings
    }

    /// Whether each person's first message has the person's name; also for stored conversations.
    static func introductions(_ places: [Evidence.PlacedTurn]) -> [Finding] {
        var known: Set<String> = []
        var findings: [Finding] = []
        for place in places {
            for line in place.turn.messages where line.author == .person {
                guard let name = line.person, known.insert(name).inserted else { continue }
                let first = name.split(separator: " ").first.map { $0.lowercased() } ?? name.lowercased()
                if !Words(line.words).has(first) {
                    findings.append(place.objection("The first message of \(name) has no name."))
                }
            }
        }
        return findings
    }

    static func memory(_ evidence: Evidence) -> [Finding] {
        evidence.played(.memory).flatMap { transcript in
            transcript.places.dropFirst().flatMap { place in
                place.turn.messages.filter { $0.words.contains("?") }.compactMap { line -> Finding? in
                    let text = Words(line.words)
                    guard let given = ["order number", "your name"].first(where: text.has) else { return nil }
                    return place.objection("The customer gave it, and is asked again: \(given).")
                }
            }
        }
    }

    static func returning(_ evidence: Evidence) -> [Finding] {
        evidence.played(.returning).compactMap { transcript in
            let places = transcript.places
            guard let first = places.first, let last = places.last, places.count > 1,
                last.turn.actor == .customer, !last.turn.messages.isEmpty
            else { return nil }
            return first.turn.words == last.turn.words
                ? last.advice("A returning customer gets the first greeting again.") : nil
        }
    }
}

extension String {
    fileprivate var trimmedWords: Int { split(whereSeparator: \.isWhitespace).count }
}

extension [Finding] {
    /// The findings without those that repeat the words of an earlier one.
    func uniqueByWords() -> [Finding] {
        var seen: Set<String> = []
        return filter { seen.insert($0.words).inserted }
    }
}
