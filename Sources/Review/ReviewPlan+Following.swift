import BusinessMessages

/// The scenes that follow from what the bot showed.
extension ReviewPlan {
    func second(_ played: [Transcript]) -> [Scene] {
        let walks = buttons(played)
        let names = Set(played.map(\.scene.name))
        let missing = walks.filter { !names.contains($0.name) }
        // The questions behind a button are known when its scene was played.
        return missing.isEmpty ? stuck(played) + signIns(played) + devices(played) : missing
    }

    /// One scene for each button of the menu of the first customer.
    private func buttons(_ played: [Transcript]) -> [Scene] {
        guard let greeting = played.first(where: { $0.scene.play == .greeting }),
            let turn = greeting.turns.first, let menu = turn.messages.last(where: { !$0.choices.isEmpty }),
            let step = turn.step
        else { return [] }
        return menu.choices.prefix(10).map {
            Scene(
                .buttons, "the button \"\($0)\"", locale: greeting.scene.locale,
                [step, .choose([$0]), .answer(upTo: Self.longestWalk)])
        }
    }

    /// The steps after which a question of each kind is open, from the shortest path that showed one.
    private func paths(_ played: [Transcript]) -> [Kind: [Step]] {
        var paths: [Kind: [Step]] = [:]
        for transcript in played where [.greeting, .buttons, .useCases].contains(transcript.scene.play) {
            for (index, turn) in transcript.turns.enumerated() {
                let steps = transcript.turns[...index].compactMap(\.step)
                guard let kind = turn.messages.last(where: \.isQuestion)?.kind, steps.count == index + 1
                else {
                    continue
                }
                if paths[kind].map({ $0.count > steps.count }) ?? true { paths[kind] = steps }
            }
        }
        return paths
    }

    /// The word "help" while each kind of question is open.
    private func stuck(_ played: [Transcript]) -> [Scene] {
        paths(played).sorted { $0.key.rawValue < $1.key.rawValue }.map { kind, steps in
            Scene(
                .stuck, "\"help\" while a question is open: \(kind)", locale: locale, steps + [.say("help")])
        }
    }

    /// Each end of a sign-in and a payment, where the bot asks for one.
    private func signIns(_ played: [Transcript]) -> [Scene] {
        let paths = paths(played)
        let kinds: [(Kind, Play, String)] = [
            (.authentication, .signIn, "sign-in"), (.applePay, .payment, "payment"),
        ]
        return kinds.flatMap { kind, play, name -> [Scene] in
            guard let path = paths[kind] else { return [] }
            let ends = Step.Outcome.allCases.map { outcome in
                let after: [Step] =
                    play == .payment && outcome == .success ? [.say("Where is my order?")] : []
                return Scene(
                    play, "a \(name) with the end \(outcome.rawValue)", locale: locale,
                    path + [.end(outcome)] + after)
            }
            guard kind == .authentication else { return ends }
            return ends + [
                Scene(play, "a sign-in on a device without sign-ins", device: .plain, locale: locale, path)
            ]
        }
    }

    /// The greeting and the first use case on each device.
    private func devices(_ played: [Transcript]) -> [Scene] {
        let longest = played.filter { [.buttons, .useCases].contains($0.scene.play) }
            .max { $0.turns.count < $1.turns.count }
        let path = longest?.turns.compactMap(\.step) ?? []
        guard let hello = played.first?.turns.first?.step else { return [] }
        return Device.allCases.map {
            Scene(
                .devices, "the device \($0.rawValue)", device: $0, locale: locale,
                path.isEmpty ? [hello] : path)
        }
    }

}
