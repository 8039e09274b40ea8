internal import BalloonJSON

/// The answers of a form.
///
/// ```json
/// "data": {"dynamic": {"template": "messageForms", "version": "1.1", "private": false, "selections": [
///          {"pageIdentifier": "001", "title": "…", "subtitle": "…", "items": [
///           {"identifier": "001_03", "type": "select", "title": "Single 3", "value": "option03"}]}]}}
/// ```
/// Apple MSP API, "Form Message".
public struct Form: Sendable {
    /// The answers of one page.
    public struct Page: Equatable, Sendable {
        /// The page's identifier, as the business chose it.
        public let pageIdentifier: String?
        /// The page's heading.
        public let title: String?
        /// The line under the heading.
        public let subtitle: String?
        /// The answers; several where several could be chosen.
        public let items: [Item]
    }

    /// One answer.
    public struct Item: Equatable, Sendable {
        /// The item's identifier; for `input` and `datePicker` that of the page.
        public let identifier: String?
        /// `select`, `picker`, `datePicker`, `input`, or what Apple adds.
        public let type: String?
        /// What the customer saw.
        public let title: String?
        /// What it means to the business; a number is kept as it is spelled.
        public let value: String?

        /// A date's seconds since 1970-01-01T00:00:00Z; `nil` for anything but a `datePicker`.
        ///
        /// Apple sends `yyyy-MM-dd'T'HH:mm:ss'Z'`, the midnight of the device's own zone in GMT.
        public var dateSeconds: Int? { type == "datePicker" ? value.flatMap(secondsSinceEpoch) : nil }
    }

    /// `messageForms`.
    public let template: String?
    /// The form schema's version, `1.1` or `1.2`.
    public let version: String?
    /// Whether the business marked the form as private; then its answers belong in no log and no transcript.
    public let isPrivate: Bool
    /// The pages that the customer answered, in their order.
    public let selections: [Page]
    /// What every interactive message has.
    public let interaction: Interaction

    init(_ dynamic: JSONValue, _ interaction: Interaction) {
        template = dynamic["template"]?.scalarString
        version = dynamic["version"]?.scalarString
        isPrivate = Self.isPrivate(dynamic)
        selections = dynamic["selections"]?.objects(Page.init) ?? []
        self.interaction = interaction
    }

    /// Whether a form says that its answers are private.
    static func isPrivate(_ dynamic: JSONValue) -> Bool {
        // Whatever stands there and is not clearly false counts: showing a private answer cannot be undone.
        dynamic.first("private").map { $0.scalarBool ?? true } ?? false
    }

    /// The answers of a page; `nil` when the customer did not see it.
    public func page(_ identifier: String) -> Page? {
        selections.first { $0.pageIdentifier == identifier }
    }
}

extension Form.Page {
    fileprivate init(_ value: JSONValue) {
        self.init(
            pageIdentifier: value["pageIdentifier"]?.scalarString,
            title: value["title"]?.scalarString,
            subtitle: value["subtitle"]?.scalarString,
            items: value["items"]?.objects(Form.Item.init) ?? [])
    }
}

extension Form.Item {
    fileprivate init(_ value: JSONValue) {
        self.init(
            identifier: value["identifier"]?.scalarString,
            type: value["type"]?.scalarString,
            title: value["title"]?.scalarString,
            value: value["value"]?.scalarString)
    }
}
