import ArgumentParser
import BalloonJSON
import BalloonPOSIX
import MessageServer
import MessageStore

/// `balloon people …`: whether the people of a business are available to answer its customers.
struct People: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Say whether people are there to answer the customers of a business.",
        subcommands: [List.self, Open.self, Close.self, Route.self, Report.self])

    /// `balloon people list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "List the businesses with people: open or closed, and how many conversations wait or are claimed."
        )

        @OptionGroup var options: ReadingOptions

        func run() async throws {
            let answer = try await ControlSocket(data: try options.data).ask(
                ControlOperations.people, Nothing())
            guard let people = try JSONDocument(answer).root["people"]?.elements else { return }
            options.writeHeader("BUSINESS", "PEOPLE", "CONVERSATIONS")
            for business in people {
                options.write(text(business), json: String(decoding: business.text, as: UTF8.self) + "\n")
            }
        }

        private func text(_ business: JSONValue) -> String {
            let opensAt = business["opensAt"]?.string.map { "closed until \($0)" }
            let isOpen = business["open"]?.bool ?? true
            let words = [
                business["business"]?.string ?? "", opensAt ?? (isOpen ? "open" : "closed"),
                "\(business["waiting"]?.int ?? 0) waiting", "\(business["person"]?.int ?? 0) with a person",
            ]
            return terminalText(words.joined(separator: "  ")) + "\n"
        }
    }

    /// `balloon people open`.
    struct Open: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Say that people are there: customers who ask for a person get the text of the business's file."
        )

        @Argument(help: "The business's slug.")
        var business: String

        @OptionGroup var options: ReadingOptions

        func run() async throws { try await change(business, isOpen: true, nil, options) }
    }

    /// `balloon people close`.
    struct Close: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Say that nobody is there: customers who ask for a person get --text until people open again.",
            discussion:
                "With --until, {opensAt} in the text becomes words such as \"tomorrow at 9 AM\" in the customer's language."
        )

        @Argument(help: "The business's slug.")
        var business: String

        @Option(help: .value("text", "The text that customers get, such as \"Back at 9.\"."))
        var text: String

        @Option(help: .value("time", "When people are there again, such as 2026-12-01T09:00:00+01:00."))
        var until: String?

        @OptionGroup var options: ReadingOptions

        func validate() throws {
            guard !text.allSatisfy(\.isWhitespace), text.utf8.count <= 2000 else {
                throw People.badText
            }
            guard let until else {
                return try require(
                    Presence(isOpen: false, text: text)?.lacksUntil == false,
                    "{opensAt} in --text needs --until.")
            }
            guard let time = Timestamp(rfc3339: until), time > .now() else {
                throw ValidationError("--until needs a time in the future, such as 2026-12-01T09:00:00+01:00")
            }
        }

        func run() async throws {
            try await change(
                business, isOpen: false, text, until: until.flatMap { Timestamp(rfc3339: $0) }, options)
        }
    }

    /// `balloon people route`.
    struct Route: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show which queue a conversation would wait in, and which rule decides.",
            discussion: "Reads the configuration only; nothing is changed, and no server is needed.")

        @Argument(help: "The business's slug; not needed when there is only one.")
        var business: String?

        @Option(help: .value("file", "The server's configuration file."))
        var config: String

        @Option(help: "The intent of the link that opened the conversation.")
        var intent: String?

        @Option(help: "The group of the link that opened the conversation.")
        var group: String?

        @Option(help: "The customer's locale, such as fr_FR.")
        var locale: String?

        @Option(help: "A message of the customer; may be given several times.")
        var text: [String] = []

        @Option(help: .value("id", "The person who answered last, a moment ago."))
        var lastPerson: String?

        @Option(help: .value("id", "The queue that the handler's answer names."))
        var queue: String?

        @Option(help: .value("n", "The priority that the handler's answer names, 0 to 9."))
        var priority: Int?

        func run() async throws {
            let configuration = try ConfigurationLoader.load(
                file: config, environment: ProcessEnvironment.variables(), for: .customer)
            let businesses = configuration.businesses.filter { business.map($0.slug.elementsEqual) ?? true }
            guard businesses.count == 1, let found = businesses.first else {
                throw CommandFailure.unknownArgument(
                    business ?? "", reason: "does not name one business",
                    hint: "use one of \(configuration.businesses.map(\.slug).joined(separator: ", "))")
            }
            guard let people = found.people, !people.queues.isEmpty else {
                return StandardStream.output.write("\(found.slug) has no queues\n")
            }
            let now = Timestamp.now()
            var facts = RoutingFacts()
            (facts.intent, facts.group, facts.locale, facts.texts) = (intent, group, locale, text)
            facts.lastPerson = lastPerson.map { ($0, now) }
            if queue != nil || priority != nil { facts.wish = Placement(queue: queue, priority: priority) }
            let placement = people.route(facts, at: now)
            let chosen = people.queue(placement.queue)
            let level = placement.priority ?? chosen?.priority ?? 0
            StandardStream.output.write(
                terminalText(
                    "queue \(placement.queue ?? ""), priority \(level), by \(placement.rule ?? "")") + "\n")
            if let queue, queue != placement.queue {
                let isKnown = people.queues.contains { $0.id == queue }
                StandardStream.error.write(
                    terminalText(queue) + (isKnown ? ": another rule decided\n" : ": is no queue\n"))
            }
        }
    }

    private static var badText: ValidationError {
        ValidationError("--text is blank or longer than 2,000 bytes")
    }

    private static func change(
        _ business: String, isOpen: Bool, _ text: String?, until: Timestamp? = nil, _ options: ReadingOptions
    ) async throws {
        guard let presence = Presence(isOpen: isOpen, text: text, until: until) else { throw Self.badText }
        do {
            _ = try await ControlSocket(data: try options.data).ask(
                ControlOperations.changePeople, PeopleChange(business, presence))
        } catch CommandFailure.refused(status: 404, answer: _) {
            throw CommandFailure.unknownArgument(
                "\"\(terminalText(business))\"", reason: "is not a business with people",
                hint: "run balloon people list to see the businesses")
        }
        options.write(
            "\(business) is \(isOpen ? "open" : "closed")\n",
            json: jsonLine(["business": business, "open": isOpen]))
    }
}
