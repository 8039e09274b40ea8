import BalloonPOSIX
package import BusinessMessages

/// The people who answer customers instead of a business's handler.
///
/// ```json
/// {"words": ["agent", "support", "help"], "text": "A colleague answers in a few minutes.",
///  "unclaimedText": "All of us are busy. We have not forgotten you.",
///  "phrases": {"de": ["mit einem Menschen"]}, "unclaimedMinutes": 10, "silentMinutes": 30,
///  "returnMinutes": 1440}
/// ```
/// Only `text` is required.
package struct PeopleConfiguration: Hashable, Sendable {
    /// The words of a customer that ask for a person; by default those that Apple names.
    package var words = CustomerWords.person
    /// The message for a customer who asks for the menu; when nil, the handler gets such words.
    package var menu: OutboundMessage?
    /// The texts that customers get; only the one for a customer who waits is required.
    package var texts: [ServerText: Localized<String>]
    /// An address of another program about a conversation, with `{conversation}`; the inbox links to it.
    package var link: String?
    /// The hours in which people answer; nil when all time counts.
    package var hours: OpeningHours?
    /// The times at which the people closed by hand, which ``PeopleSettings`` adds; no setting.
    var closings: [Range<Timestamp>] = []
    /// How long a conversation waits until the text `unclaimed` is sent; JSON: `unclaimedMinutes`.
    package var unclaimedTime = Duration.seconds(10 * 60)
    /// How long a person may be inactive before the conversation waits for another person; JSON:
    /// `silentMinutes`.
    package var silentTime = Duration.seconds(30 * 60)
    /// How long a conversation waits for a person before its handler answers again; JSON: `returnMinutes`.
    package var returnTime = Duration.seconds(24 * 60 * 60)

    /// The queues in which conversations wait, the default queue first; none means one list without queues.
    package var queues: [QueueConfiguration] = []
    /// The rules that choose the queue of a conversation; the first one that matches decides.
    package var rules: [QueueRule] = []

    /// Creates a configuration with defaults.
    package init(text: String) { texts = [.wait: Localized(text)] }

    /// Whether the business or one of its queues has hours.
    var hasHours: Bool { hours != nil || queues.contains { $0.hours != nil } }

    /// When the people of a queue answer; nil means those of the business.
    func openingTime(of queue: QueueConfiguration?) -> OpeningTime {
        OpeningTime(hours: queue?.hours ?? hours, closings: closings)
    }

    /// Returns the text of a queue, or that of the business; nil when the server sends none.
    func text(_ key: ServerText, in queue: QueueConfiguration?) -> Localized<String>? {
        queue?.texts[key] ?? texts[key]
    }

    /// The maximum number of words or phrases of one language.
    static let maximumWords = 50
    /// The maximum length of a word or phrase in UTF-8.
    static let maximumWordBytes = 100
    /// The maximum length of a text in UTF-8.
    static let maximumTextBytes = 2000
}

extension [BusinessConfiguration] {
    /// A warning for each business whose handler cannot pass a conversation to a person, which Apple requires.
    package var warningsAboutPeople: [ConfigurationProblem] {
        filter { business in
            if case .builtin(HandlerBinding.none, _) = business.handler { return false }
            return business.people == nil
        }
        .map { business in
            ConfigurationProblem(
                at: .file("\(business.directory)/\(business.slug).json"),
                "has no \"people\": customers cannot reach a person, which Apple requires",
                hint: "add \"people\": {\"text\": \"A colleague answers in a few minutes.\"}")
        }
    }
}
