package import BusinessMessages

/// An interactive message of a business as a device shows it: the customer's possible answers.
package struct DeviceOffer: Sendable {
    /// Something that the customer can choose.
    package struct Item: Sendable {
        /// The identifier that the business gave the item; empty when it gave none.
        package let identifier: String
        /// The text that the device shows.
        package let title: String
        /// The line under the title.
        package let subtitle: String?
        /// The value of a form's item.
        package let value: String?
        /// The item as it was sent; nil for an outcome that the device itself names, such as `success`.
        package let source: JSONValue?
    }

    /// Items under one heading.
    package struct Section: Sendable {
        /// The heading.
        package let title: String?
        /// Whether more than one of its items can be chosen.
        package let isMultiple: Bool
        /// The items in the order of the screen.
        package let items: [Item]
    }

    /// The message of the business.
    package let message: JSONDocument
    /// The kind of the message.
    package let kind: Kind
    /// The question: the bubble's title or the summary of a quick reply.
    package let question: String?
    /// The choices; empty for a form and an app.
    package let sections: [Section]
    /// The pages of a form.
    package let form: DeviceForm?
    /// The message's `interactiveData`.
    let interactiveData: JSONValue
    /// The receiver of the message; for an invitation, a telephone number.
    let address: String?
    /// The session identifier that all answers repeat; the message's id when the business sent no session.
    package let session: String

    /// Reads a message of a business; throws ``DeviceAnswerError/noQuestion`` when it asks nothing, and
    /// ``DeviceAnswerError/contentReferred`` when its content is behind a reference.
    package init(_ message: JSONDocument) throws(DeviceAnswerError) {
        self.message = message
        let body = message.root
        if body["interactiveDataRef"] != nil { throw .contentReferred }
        guard let interactiveData = body["interactiveData"], interactiveData.kind == .object else {
            throw .noQuestion
        }
        let data = interactiveData["data"]
        kind = InboundEvent.decode(message: message).kind
        switch kind {
        case .quickReply:
            sections = [Section(data?["quick-reply"]?["items"]?.elements.map { Item($0) } ?? [])]
        case .listPicker: sections = Self.sections(ofListPicker: data?["listPicker"])
        case .timePicker:
            sections = [Section(data?["event"]?["timeslots"]?.elements.map { Item(timeslot: $0) } ?? [])]
        case .authentication:
            let isVersion2 = data?["version"]?.string == "2.0"
            let outcomes = isVersion2 ? ["success", "failure", "cancel"] : ["authenticated", "failed"]
            sections = [Section(outcomes.map { Item(outcome: $0) })]
        case .applePay:
            sections = [Section(["paid", "declined", "paymentNotCompleted"].map { Item(outcome: $0) })]
        case .invitation: sections = [Section(["yes", "no"].map { Item(outcome: $0) })]
        case .form, .app: sections = []
        case .text, .typingStart, .typingEnd, .close, .unrecognized: throw .noQuestion
        }
        address = body["destinationId"]?.string
        form = kind == .form ? DeviceForm(data?["dynamic"]?["data"]) : nil
        let bubble = data?["receivedMessage"] ?? interactiveData["receivedMessage"]
        question =
            data?["quick-reply"]?["summaryText"]?.string ?? bubble?["title"]?.string
            ?? data?["notification"]?["parameters"]?["brandName"]?.string
        session =
            interactiveData["sessionIdentifier"]?.string ?? data?["sessionIdentifier"]?.string
            ?? body["id"]?.string ?? ""
        self.interactiveData = interactiveData
    }

    /// The identifier that the answer repeats.
    package var requestIdentifier: String? { interactiveData["data"]?["requestIdentifier"]?.string }

    /// The `referenceId` that the business gave an invitation; nil for every other kind.
    package var reference: String? { interactiveData["data"]?["notification"]?["referenceId"]?.string }

    /// Every item, in the order of its number.
    package var items: [Item] { sections.flatMap(\.items) }

    /// A line for each item: `1 Margherita (Pizza)`; a section's title is in brackets.
    package var offered: [String] {
        let titled = sections.flatMap { section in section.items.map { (section.title, $0) } }
        return titled.enumerated().map { number, item in
            let section = item.0.flatMap { $0.isEmpty ? nil : " (\($0))" } ?? ""
            return "\(number + 1) \(item.1.title)\(section)"
        }
    }

    private static func sections(ofListPicker picker: JSONValue?) -> [Section] {
        let isMultiple = picker?["multipleSelection"]?.bool ?? false
        return inOrder(picker?["sections"]).map { section in
            Section(
                title: section["title"]?.string, isMultiple: section["multipleSelection"]?.bool ?? isMultiple,
                items: inOrder(section["items"]).map(Item.init(_:)))
        }
    }

    /// The elements sorted by their member `order`; for an element without it, its index counts as its order.
    private static func inOrder(_ list: JSONValue?) -> [JSONValue] {
        let elements = list.map { Array($0.elements) } ?? []
        let placed = elements.enumerated().map { (order: $1["order"]?.int ?? $0, place: $0, element: $1) }
        return placed.sorted { ($0.order, $0.place) < ($1.order, $1.place) }.map(\.element)
    }

    /// The start of a time slot as a device sends it: in GMT, without seconds; an unreadable date is not
    /// changed.
    static func startTime(of timeslot: JSONValue) -> String? {
        guard let text = timeslot["startTime"]?.string else { return nil }
        guard let seconds = secondsSinceEpoch(parsing: text) else { return text }
        let second = (seconds % 60 + 60) % 60
        return BusinessMessages.startTime(at: seconds - second)
    }
}

extension DeviceOffer.Item {
    /// Reads an item of a picker or a form.
    init(_ item: JSONValue) {
        identifier = item["identifier"]?.string ?? ""
        title = item["title"]?.string ?? identifier
        subtitle = item["subtitle"]?.string
        value = item["value"]?.string
        source = item
    }

    fileprivate init(timeslot: JSONValue) {
        identifier = timeslot["identifier"]?.string ?? ""
        title = DeviceOffer.startTime(of: timeslot) ?? identifier
        subtitle = timeslot["duration"]?.int.map { "\($0 / 60) minutes" }
        value = nil
        source = timeslot
    }

    fileprivate init(outcome: String) {
        self.init(identifier: outcome, title: outcome, subtitle: nil, value: nil, source: nil)
    }
}

extension DeviceOffer.Section {
    /// A section without a heading, of whose items one can be chosen.
    fileprivate init(_ items: [DeviceOffer.Item]) { self.init(title: nil, isMultiple: false, items: items) }
}
