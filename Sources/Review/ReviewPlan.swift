/// The scenes of a review.
///
/// Some follow from what earlier ones showed, such as one scene for each button of the menu.
package struct ReviewPlan: Sendable {
    private let brief: Brief
    private let business: ReviewedBusiness
    private let plays: Set<Play>

    /// Creates the plan of these plays.
    package init(_ brief: Brief, _ business: ReviewedBusiness, of plays: Set<Play>) {
        self.brief = brief
        self.business = business
        self.plays = plays
    }

    /// The next scenes, which may be played at the same time unless one is alone; none at the end.
    package func due(after played: [Transcript]) -> [Scene] {
        let names = Set(played.map(\.scene.name))
        for batch in [greeting, first, second(played), faults, closed] {
            let due = batch.filter { !names.contains($0.name) && isWanted($0) }
            if !due.isEmpty { return due }
        }
        return []
    }

    /// Whether a scene is part of a wanted play, or shows what later scenes need.
    private func isWanted(_ scene: Scene) -> Bool {
        let later: Set<Play> = [.buttons, .stuck, .signIn, .payment, .devices]
        return switch scene.play {
        case .greeting: true
        case .buttons, .useCases: plays.contains(scene.play) || !plays.isDisjoint(with: later)
        default: plays.contains(scene.play)
        }
    }

    private var hi: Step { .say(brief.hello) }

    var locale: String? { brief.locale }

    private func scene(
        _ play: Play, _ name: String, device: Device = .iphone, intent: String? = nil, isAlone: Bool = false,
        _ steps: [Step]
    ) -> Scene {
        Scene(play, name, device: device, locale: brief.locale, intent: intent, isAlone: isAlone, steps)
    }

    /// The words that open each conversation, played alone, because their time is judged.
    private var greeting: [Scene] {
        ["first customer", "second customer"].map {
            scene(.greeting, $0, isAlone: true, [hi, hi])
        }
    }

    private var first: [Scene] {
        useCases + persons + texts + files + languages + consent + notices + features + [
            scene(.deletion, "the customer deletes the conversation", [hi, .leave, .notify("News."), hi]),
            scene(.silence, "the customer writes nothing more", [hi, .silence(seconds: 8)]),
        ]
    }

    private var useCases: [Scene] {
        brief.useCases.map { use in
            let steps: [Step] = use.path.map { .choose([$0]) }
            return scene(
                .useCases, "use case: \(use.name.isEmpty ? use.words : use.name)",
                [.say(use.words)] + steps + (steps.isEmpty ? [.answer(upTo: Self.longestWalk)] : []))
        }
    }

    static let longestWalk = 6

    private var persons: [Scene] {
        let greeting = brief.agents.first?.says ?? []
        let second = brief.agents.dropFirst().first?.says ?? []
        let hello = Step.write(greeting.first ?? "Hello, this is Ana.")
        let writes: [Step] = greeting.map { .write($0) }
        let takesOver: [Step] =
            second.isEmpty ? [] : [.claim(second: true), .type] + second.map { .write($0) }
        let order = Step.say("My name is Robin Vale and my order number is 48213.")
        let asks: [Step] = [.say("help"), .claim(second: false)]
        return [
            scene(.returning, "the customer returns after a close", [hi] + asks + [hello, .close, hi]),
            scene(
                .handOff, "a person answers and returns the conversation",
                [hi] + asks + [hello, .release(toHandler: true), hi]),
            scene(.person, "the persons of the brief answer", [hi] + asks + [.type] + writes + takesOver),
            scene(
                .memory, "a customer with a name and an order number",
                [hi, order] + asks + [hello, .release(toHandler: true), hi]),
            scene(.ending, "a person ends the conversation", [hi] + asks + writes + [.close]),
        ]
    }

    /// Apple's words for a person, and for the menu.
    package static let personWords = ["agent", "support", "help"]
    static let menuWords = ["menu", "list", "?"]
    /// Ways of writing them that a customer uses.
    static let personPhrases = ["HELP", " help ", "Help!", "I need help", "agent please"]
    static let consentWords = ["unsubscribe", "stop", "end", "spam", "subscribe"]
    private static let strange = [
        ("gibberish", "qwkj zzxv plom"), ("a question beside the point", "Do penguins have knees?"),
        ("a rude line", "You are completely useless."),
    ]

    private var texts: [Scene] {
        var scenes = (Self.personWords + Self.personPhrases).map {
            scene(.words, "the customer writes \"\($0)\"", [hi, .say($0)])
        }
        scenes += brief.languages.filter { !$0.help.isEmpty }.map {
            Scene(.words, "the customer writes \"\($0.help)\" in \($0.locale)", locale: $0.locale, $0.steps)
        }
        if business.hasMenu {
            scenes += Self.menuWords.map { scene(.words, "the customer writes \"\($0)\"", [hi, .say($0)]) }
        }
        return scenes
            + Self.strange.map { scene(.offScript, $0.0, [hi, .say($0.1), .say($0.1), .say($0.1)]) }
    }

    private var files: [Scene] {
        Step.Sample.allCases.map { scene(.files, "a file: \($0.rawValue)", [hi, .attach($0, "")]) } + [
            scene(.files, "a heart on a text", [hi, .react(toBubble: false)]),
            scene(.files, "a heart on a bubble", [hi, .react(toBubble: true)]),
        ]
    }

    private var languages: [Scene] {
        brief.languages.map {
            Scene(.languages, "the language \($0.locale)", locale: $0.locale, $0.steps)
        }
    }

    private var consent: [Scene] {
        Self.consentWords.map { scene(.consent, "the customer writes \"\($0)\"", [hi, .say($0)]) }
    }

    /// The features of an MSP beside those of a bot: a person sends each kind, devices that lack one, and requests that are refused.
    private var features: [Scene] {
        let text = "Grüße, 你好, שלום 🎉"
        let taken: [Step] = [hi, .say("help"), .claim(second: false)]
        return [
            scene(.features, "texts in both directions", taken + [.say(text), .write(text)]),
            scene(.features, "a person sends each kind", taken + FeatureMessage.allCases.map { .show($0) }),
            scene(
                .features, "a person writes to a device that lacks forms", device: .mac,
                taken + [.type, .show(.form)]),
            scene(.features, "the landing page", [.landing(onlyID: false), .landing(onlyID: true)]),
            scene(.features, "requests with other tokens", [hi] + Step.Token.allCases.map { .knock($0) }),
        ]
            + business.intents.prefix(2).map {
                scene(.features, "the entry link \($0)", intent: $0, [hi, .say("help")])
            }
    }

    private var notices: [Scene] {
        (brief.notices ?? []).prefix(4).map { scene(.notices, "the notice \"\($0)\"", [hi, .notify($0)]) }
    }

    private var faults: [Scene] {
        Step.Fault.allCases.map { fault in
            let name =
                switch fault {
                case .slow: "the handler is slow"
                case .killed: "the handler ends"
                case .gateway: "the gateway fails once"
                }
            return scene(
                .faults, name, isAlone: true, [.fault(fault), hi] + (fault == .gateway ? [] : [.say("help")]))
        }
    }

    private var closed: [Scene] {
        guard business.hasPeople else { return [] }
        let entries: [String?] = [nil] + business.intents.prefix(8).map(\.self)
        let first = entries.map { intent in
            scene(
                .closed, intent.map { "at night, by the link \($0)" } ?? "at night", intent: intent,
                [hi, .say("help")])
        }
        return first
            + brief.languages.dropFirst().map {
                Scene(.closed, "at night, in \($0.locale)", locale: $0.locale, $0.steps)
            }
    }
}
