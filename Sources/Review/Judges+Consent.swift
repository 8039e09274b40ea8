import BusinessMessages

extension Judges {
    static func deletion(_ evidence: Evidence) -> [Finding] {
        evidence.played(.deletion).compactMap { transcript in
            let places = transcript.places
            guard let left = places.firstIndex(where: { $0.turn.state == "closed" }) else { return nil }
            let back =
                places[left...].dropFirst().firstIndex { $0.turn.actor == .customer } ?? places.endIndex
            if let sent = places[left..<back].first(where: { !$0.turn.messages.isEmpty }) {
                return sent.objection("A message was sent after the customer deleted the conversation.")
            }
            guard back < places.endIndex, places[back].turn.messages.isEmpty else { return nil }
            return places[back].objection("After a deletion the customer's next message is not answered.")
        }
    }

    static func silence(_ evidence: Evidence) -> [Finding] {
        evidence.turns(.silence).filter { $0.turn.actor == .event }.compactMap { place in
            place.turn.messages.count > 1
                ? place.objection("\(place.turn.messages.count) messages without a question of the customer.")
                : nil
        }
    }

    static func ending(_ evidence: Evidence) -> [Finding] {
        var findings = evidence.played(.ending).compactMap { transcript -> Finding? in
            guard evidence.brief.agent(second: false).says.isEmpty == false else {
                return .notTested("the brief has no \"agents\" with the texts that they write")
            }
            guard let words = words(of: transcript.scene, evidence), let last = transcript.messages.last,
                Words(last.words).first(of: words.closings + words.survey) == nil,
                let place = transcript.places.last(where: { !$0.turn.messages.isEmpty })
            else { return nil }
            return place.advice("The person ends without a closing sentence.")
        }
        for transcript in evidence.transcripts {
            guard let words = words(of: transcript.scene, evidence) else { continue }
            let surveys = transcript.places.filter { place in
                place.turn.messages.contains { line in
                    line.author != .person && Words(line.words).first(of: words.survey) != nil
                }
            }
            if surveys.count > 1 {
                findings.append(
                    .advice(
                        "The survey is sent \(surveys.count) times in a conversation.",
                        surveys.prefix(3).map(\.quote)))
            }
        }
        return findings.uniqueByWords()
    }

    static func noticeSentence(_ evidence: Evidence) -> [Finding] {
        guard evidence.brief.notices != nil else {
            return [.notTested("the brief has no \"notices\"; write [] when the business sends none")]
        }
        return evidence.played(.notices).compactMap { transcript in
            let places = transcript.places
            guard let notice = places.first(where: { $0.turn.actor == .agent && !$0.turn.messages.isEmpty })
            else { return nil }
            let before = places[...notice.index].flatMap(\.turn.messages)
            let isInformed = before.contains { Words($0.words).has("unsubscribe") }
            return isInformed
                ? nil
                : notice.objection(
                    "The notice was sent without Apple's sentence, which ends in: Send 'Unsubscribe' to manage …"
                )
        }
    }

    /// Beginnings of words in an answer about subscriptions.
    private static let subscriptionWords = [
        "subscri", "suscri", "abonn", "abbestell", "abgemeldet", "angemeldet", "notif", "benachricht",
        "notice", "unsub",
    ]

    static func consent(_ evidence: Evidence) -> [Finding] {
        let sendsNotices = !(evidence.brief.notices ?? []).isEmpty
        return evidence.played(.consent).compactMap { transcript in
            guard let place = transcript.places.last, place.index > 0 else { return nil }
            let text = place.turn.words.lowercased()
            let isUnderstood =
                subscriptionWords.contains(where: text.contains)
                || place.turn.messages.contains { $0.kind == .listPicker }
            let isLate = place.turn.firstAnswer.map { $0 > longestFirstAnswer } ?? true
            guard !isUnderstood || isLate else { return nil }
            let words =
                isLate
                ? "\"\(place.turn.action)\" is not answered within 5 s."
                : "\"\(place.turn.action)\" is treated as any other text: confirm it, and say what the customer gets."
            return sendsNotices ? place.objection(words) : place.advice(words)
        }
    }

    static func marketing(_ evidence: Evidence) -> [Finding] {
        evidence.automaticLines.compactMap { line -> Finding? in
            guard let words = words(of: line.place.transcript.scene, evidence) else { return nil }
            let text = line.line.words
            guard let word = Words(text).first(of: words.offers) ?? (text.contains("% ") ? "%" : nil) else {
                return nil
            }
            return line.look("This may be advertising (\(word)): \"\(short(text))\".")
        }
        .uniqueByWords()
    }

    /// Each end of a sign-in or payment must be answered.
    private static func ends(_ play: Play, _ noun: String, _ evidence: Evidence) -> [Finding] {
        let transcripts = evidence.played(play)
        guard !transcripts.isEmpty else {
            return [
                .notTested("no scene reached a \(noun): if the business has one, add a use case to the brief")
            ]
        }
        return transcripts.compactMap { transcript in
            guard let place = transcript.places.last(where: { $0.turn.actor == .customer })
            else { return nil }
            return place.turn.isUnanswered
                ? place.objection("\(transcript.scene.name) ends in silence.") : nil
        }
    }

    static func signIn(_ evidence: Evidence) -> [Finding] { ends(.signIn, "sign-in", evidence) }

    static func payment(_ evidence: Evidence) -> [Finding] {
        var findings = ends(.payment, "payment", evidence)
        for transcript in evidence.played(.payment) {
            let places = transcript.places
            guard transcript.scene.steps.contains(.end(.success)), places.count > 1 else { continue }
            let paid = places[places.count - 2]
            if paid.turn.messages.isEmpty {
                findings.append(paid.objection("Paid, but no confirmation."))
            } else if !Words(paid.turn.words).hasNumber {
                findings.append(paid.advice("The confirmation of the payment has no order number."))
            }
        }
        return findings
    }
}
