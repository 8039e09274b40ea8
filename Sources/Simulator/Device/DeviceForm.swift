import BalloonPOSIX
package import BusinessMessages

/// The pages of a form, and the order in which the customer's answers lead through them.
package struct DeviceForm: Sendable {
    /// A page as a device shows it.
    package struct Page: Sendable {
        /// The page's identifier.
        package let identifier: String
        /// `select`, `picker`, `datePicker` or `input`.
        package let type: String
        /// The headline.
        package let title: String?
        /// The question.
        package let subtitle: String?
        /// The items of a `select` or `picker` page; empty for other pages.
        package let items: [DeviceOffer.Item]
        /// Whether several items can be chosen.
        package let isMultiple: Bool
        /// The page as it was sent.
        let source: JSONValue

        /// A line for each item: `1 Cash`; for a page without items, one line that says which text it accepts.
        package var offered: [String] {
            switch type {
            case "datePicker": ["a date as \(DeviceDate(source["options"]).pattern.text) or yyyy-MM-dd"]
            case "input": ["a text" + (isRequired ? "" : ", or nothing")]
            default: items.enumerated().map { "\($0 + 1) \($1.title)" }
            }
        }

        /// One line about the page in a list of pages, such as `payment: Cash | Card`.
        var line: String {
            let choices = items.isEmpty ? offered.joined() : items.map(\.title).joined(separator: " | ")
            return "\(identifier): \(choices)"
        }

        var isRequired: Bool { source["options"]?["required"]?.bool ?? false }
    }

    /// The customer's answer to a page.
    struct Answer: Sendable {
        /// An element of `selections[].items`.
        struct Item: Sendable {
            let identifier: String
            let title: String
            let value: String
        }

        let page: Page
        let items: [Item]
        /// The identifier of the page that follows; nil at the end of the form.
        let next: String?
    }

    /// The pages in the order of the message.
    package let pages: [Page]
    private let start: String

    init(_ form: JSONValue?) {
        pages = form?["pages"]?.elements.map(Page.init(_:)) ?? []
        start = form?["startPageIdentifier"]?.string ?? pages.first?.identifier ?? ""
    }

    /// Follows the path that the fills determine, and returns its first page without a fill; nil for a
    /// complete form.
    ///
    /// Throws when a page does not accept its fill.
    package func firstOpenPage(
        after fills: [DeviceChoice.Fill], today: CalendarDate = .today
    ) throws(DeviceAnswerError) -> Page? {
        var answers: [Answer] = []
        return try walk(fills, today, &answers, stopsAtOpenPage: true)
    }

    /// The answers to all pages on the path that the fills determine.
    ///
    /// A page without a fill keeps the value that the device shows at first.
    func answers(_ fills: [DeviceChoice.Fill], today: CalendarDate) throws(DeviceAnswerError) -> [Answer] {
        let named = try fills.map { fill throws(DeviceAnswerError) in try page(named: fill.page).identifier }
        var answers: [Answer] = []
        _ = try walk(fills, today, &answers, stopsAtOpenPage: false)
        let reached = answers.map(\.page.identifier)
        if let stray = named.first(where: { !reached.contains($0) }) {
            throw .unreachedPage(stray, reached: answers.map(\.page.line))
        }
        return answers
    }

    /// The page with this identifier or title.
    package func page(named name: String) throws(DeviceAnswerError) -> Page {
        if let page = pages.first(where: { $0.identifier == name }) { return page }
        let titled = pages.filter { $0.title == name }
        guard titled.count == 1, let page = titled.first else {
            throw .unknownPage(name, pages: pages.map(\.line))
        }
        return page
    }

    /// Follows the pages from the first to the last, adds their answers to `answers`, and returns nil.
    ///
    /// With `stopsAtOpenPage`, stops at the first page without a fill and returns that page.
    private func walk(
        _ fills: [DeviceChoice.Fill], _ today: CalendarDate, _ answers: inout [Answer], stopsAtOpenPage: Bool
    ) throws(DeviceAnswerError) -> Page? {
        var texts: [String: [String]] = [:]
        for fill in fills { texts[try page(named: fill.page).identifier, default: []].append(fill.value) }
        var next: String? = start
        var visited: Set<String> = []
        while let identifier = next {
            guard let page = pages.first(where: { $0.identifier == identifier }),
                visited.insert(identifier).inserted
            else { throw .brokenForm(page: answers.last?.page.identifier ?? identifier) }
            let given = texts[identifier] ?? []
            if stopsAtOpenPage, given.isEmpty { return page }
            let answer = try page.answer(given, today: today)
            answers.append(answer)
            next = answer.next
        }
        return nil
    }
}

extension DeviceForm.Page {
    fileprivate init(_ page: JSONValue) {
        identifier = page["pageIdentifier"]?.string ?? ""
        type = page["type"]?.string ?? ""
        title = page["title"]?.string
        subtitle = page["subtitle"]?.string
        items = page["items"]?.elements.map(DeviceOffer.Item.init(_:)) ?? []
        isMultiple = type == "select" && page["multipleSelection"]?.bool ?? false
        source = page
    }

    /// The page's answer that consists of these texts; without a text, the value that the device shows at
    /// first.
    fileprivate func answer(
        _ texts: [String], today: CalendarDate
    ) throws(DeviceAnswerError) -> DeviceForm.Answer {
        let given = texts.filter { !$0.isEmpty }
        switch type {
        case "datePicker":
            return answer([try date(given, today: today)])
        case "input":
            return answer([try input(given)])
        default:
            let positions = try choice(given)
            let chosen = positions.map { items[$0] }
            let branch = isMultiple ? nil : chosen.first?.source?["nextPageIdentifier"]?.string
            return answer(
                chosen.map { .init(identifier: $0.identifier, title: $0.title, value: $0.value ?? "") },
                branch: branch)
        }
    }

    private func answer(_ items: [DeviceForm.Answer.Item], branch: String? = nil) -> DeviceForm.Answer {
        let isLast = source["submitForm"]?.bool ?? false
        let next = [branch, source["nextPageIdentifier"]?.string].compactMap(\.self).first { !$0.isEmpty }
        return DeviceForm.Answer(page: self, items: items, next: isLast ? nil : next)
    }

    private func choice(_ texts: [String]) throws(DeviceAnswerError) -> [Int] {
        if texts.isEmpty {
            // A picker always shows an item, so without a text that item is the answer.
            let shown = source["selectedItemIndex"]?.int ?? 0
            guard type == "picker", items.indices.contains(shown) else {
                throw .missingAnswer(page: identifier, offered: offered)
            }
            return [shown]
        }
        let positions = try DeviceChoice.positions(of: texts, in: items, listed: offered)
        guard isMultiple || positions.count == 1 else { throw .tooManyChoices(offered: offered) }
        return positions
    }

    private func date(
        _ texts: [String], today: CalendarDate
    ) throws(DeviceAnswerError) -> DeviceForm.Answer.Item {
        let rules = DeviceDate(source["options"])
        guard let text = texts.last else { return item(for: rules.start ?? today, rules) }
        guard let date = rules.date(in: text) else {
            throw refused(text, "it is no date of the form \(rules.pattern.text)")
        }
        if let minimum = rules.minimum, date < minimum {
            throw refused(text, "the earliest date is \(rules.pattern.text(of: minimum))")
        }
        let maximum = rules.maximum ?? today
        if maximum < date { throw refused(text, "the latest date is \(rules.pattern.text(of: maximum))") }
        return item(for: date, rules)
    }

    private func refused(_ text: String, _ expected: String) -> DeviceAnswerError {
        .refusedAnswer(page: identifier, text, expected: expected)
    }

    /// The answer for a date, whose value is midnight in the device's time zone, as Apple sends it.
    ///
    /// The device's time zone is GMT here.
    private func item(for date: CalendarDate, _ rules: DeviceDate) -> DeviceForm.Answer.Item {
        .init(
            identifier: identifier, title: rules.pattern.text(of: date),
            value: DatePattern.iso.text(of: date) + "T00:00:00Z")
    }

    private func input(_ texts: [String]) throws(DeviceAnswerError) -> DeviceForm.Answer.Item {
        let options = source["options"]
        guard let text = texts.last else {
            if isRequired { throw .missingAnswer(page: identifier, offered: []) }
            return .init(identifier: identifier, title: "", value: "")
        }
        let isMultiline = options?["inputType"]?.string == "multiline"
        let maximum = options?["maximumCharacterCount"]?.int ?? (isMultiline ? 300 : 30)
        if text.count > maximum {
            throw refused(text, "at most \(maximum) characters")
        }
        if let pattern = options?["regex"]?.string, !pattern.isEmpty {
            // A device ignores a pattern that it cannot parse; `balloon validate` reports such a pattern. A text
            // is accepted when its match cannot be decided within the limits.
            if RegularExpression(pattern)?.matchesWhole(text) == .absent {
                throw refused(text, "it must match \(pattern)")
            }
        }
        let prefix = isMultiline ? "" : options?["prefixText"]?.string ?? ""
        return .init(identifier: identifier, title: prefix + text, value: text)
    }
}

/// The options of a date page.
private struct DeviceDate {
    let pattern: DatePattern
    let start: CalendarDate?
    let minimum: CalendarDate?
    let maximum: CalendarDate?

    init(_ options: JSONValue?) {
        let pattern = options?["dateFormat"]?.string.flatMap { DatePattern($0) } ?? .standard
        func date(_ name: String) -> CalendarDate? {
            options?[name]?.string.flatMap { pattern.date(in: $0) ?? DatePattern.iso.date(in: $0) }
        }
        self.pattern = pattern
        start = date("startDate")
        minimum = date("minimumDate")
        maximum = date("maximumDate")
    }

    func date(in text: String) -> CalendarDate? { pattern.date(in: text) ?? DatePattern.iso.date(in: text) }
}

extension CalendarDate {
    /// The day of this moment, in GMT.
    package static var today: CalendarDate { CalendarDate(atSeconds: SystemClock.secondsSince1970()) }
}
