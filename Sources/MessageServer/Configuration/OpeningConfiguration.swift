package import BusinessMessages

/// The server's own messages at the start of a conversation: `disclosure`, `terms` and `firstAnswer` in a business's
/// file.
///
/// ```json
/// {
///   "disclosure": "You are writing with our automated assistant.",
///   "terms": { "url": "https://shop.example.com/terms", "title": "Our terms", "image": "terms.png" },
///   "firstAnswer": { "text": "One moment, please.", "afterSeconds": 4 }
/// }
/// ```
package struct OpeningConfiguration: Sendable {
    /// The text of the server when a handler takes its time.
    package struct FirstAnswer: Sendable {
        /// The text.
        package var text: Localized<String>
        /// The time after the customer's message, JSON: `afterSeconds`.
        package var after = Duration.seconds(4)
    }

    /// The text that says that automation answers; nil for none.
    package var disclosure: Localized<String>?
    /// The link to the terms, for a customer who never wrote before; nil for none.
    package var terms: RichLink?
    /// The answer when the handler takes its time; nil for none.
    package var firstAnswer: FirstAnswer?

    /// Creates a configuration in which the server sends nothing.
    package init() {}

    /// Whether anything comes before the first automatic message.
    var isSilent: Bool { disclosure == nil && terms == nil }

    /// Reads the members of a business's file.
    static func read(_ reader: inout ObjectReader) -> OpeningConfiguration {
        var opening = OpeningConfiguration()
        opening.disclosure = reader.customerText("disclosure").map { Localized($0) }
        opening.firstAnswer = reader.object("firstAnswer") { reader in
            reader.require("text", hint: "write what a customer reads while the handler works")
            let text = reader.customerText("text")
            var after = Duration.seconds(4)
            reader.set(&after, "afterSeconds", in: 1...30)
            return text.map { FirstAnswer(text: Localized($0), after: after) }
        }
        opening.terms = reader.object("terms", terms)
        return opening
    }

    private static func terms(_ reader: inout ObjectReader) -> RichLink? {
        reader.require("url", "title", hint: "a link needs an address and a title")
        let (url, title) = (reader.text("url"), reader.text("title"))
        let image = image(&reader)
        guard let url, let title else { return nil }
        let link = RichLink(url.text, title: title.text, image: image)
        if let problem = OutboundMessage.richLink(link).problems().first(where: { $0.severity == .error }) {
            reader.problem(
                "is no link that Apple accepts: \(problem.rule) at \(problem.pointer)",
                hint: "write an address that begins with https://, a title, and an image of at most 200 kB")
            return nil
        }
        return link
    }

    /// Reads the image of a link, a PNG or JPEG file in the folder of the business's file.
    static func image(_ reader: inout ObjectReader) -> RichLink.Image? {
        guard let path = reader.text("image") else { return nil }
        let name = path.text.lowercased()
        guard name.hasSuffix(".png") || name.hasSuffix(".jpg") || name.hasSuffix(".jpeg") else {
            reader.report(path, "is no PNG or JPEG file", hint: "name a file that ends in .png or .jpg")
            return nil
        }
        return reader.content(of: path, maximumBytes: 200_000).map {
            RichLink.Image(bytes: $0, mimeType: name.hasSuffix(".png") ? "image/png" : "image/jpeg")
        }
    }
}

extension BusinessConfiguration {
    /// Reads `texts`: texts by key and language, for keys that the file uses.
    mutating func readTexts(_ reader: inout ObjectReader) {
        let texts = ServerText.allCases.reduce(into: [:]) { $0[$1] = text($1) }
        for (key, text) in reader.translations(of: texts) { set(text, as: key) }
    }

    private mutating func set(_ text: Localized<String>, as key: ServerText) {
        switch key {
        case .wait, .unclaimed, .closed, .transfer, .opening, .survey: people?.texts[key] = text
        case .disclosure: opening.disclosure = text
        case .firstAnswer: opening.firstAnswer?.text = text
        case .subscribed: notices?.text = text
        case .unsubscribed: notices?.withdrawnText = text
        }
    }
}

extension [BusinessConfiguration] {
    /// Advice for each business whose handler answers, about members that Apple's reviewers look for.
    package var adviceForReview: [ConfigurationProblem] {
        func quoted(_ words: [String]) -> String { words.map { "\"\($0)\"" }.joined(separator: ", ") }
        return flatMap { business -> [ConfigurationProblem] in
            if case .builtin(HandlerBinding.none, _) = business.handler { return [] }
            let file = ConfigurationPlace.file("\(business.directory)/\(business.slug).json")
            let members = [
                ("disclosure", business.opening.disclosure == nil),
                ("firstAnswer", business.opening.firstAnswer == nil),
                ("replies.typing", business.replies.typing == nil),
                ("replies.links", business.replies.links == .keep),
                ("people.hours", business.people?.hasHours == false),
            ]
            let missing = quoted(members.filter(\.1).map(\.0))
            let words = business.people?.words.words.all ?? CustomerWords.person.words.all
            let replaced = quoted(CustomerWords.person.words.all.filter { !words.contains($0) })
            var advice: [ConfigurationProblem] = []
            if !missing.isEmpty {
                advice.add(
                    at: file, "has no \(missing), which Apple's reviewers look for",
                    hint: "see the table of a business's file in the guide \"Configuration\"")
            }
            if !replaced.isEmpty {
                advice.add(
                    at: file,
                    "has \"people.words\" without \(replaced), with which reviewers ask for a person",
                    hint: "add them to the list, or write an object for each language, which adds to them")
            }
            return advice
        }
    }
}
