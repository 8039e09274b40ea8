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
        /// The page's identifier, chosen by the business.
        public let pageIdentifier: String?
        /// The page's heading.
        public let title: String?
        /// The line under the heading.
        public let subtitle: String?
        /// The answers; more than one if the page allows several choices.
        public let items: [Item]

        init(_ value: JSONValue) {
            pageIdentifier = value["pageIdentifier"]?.scalarString
            title = value["title"]?.scalarString
            subtitle = value["subtitle"]?.scalarString
            items = value["items"]?.objects(Item.init) ?? []
        }
    }

    /// One answer.
    public struct Item: Equatable, Sendable {
        /// The item's identifier; for `input` and `datePicker` the page's identifier.
        public let identifier: String?
        /// `select`, `picker`, `datePicker`, `input`, or a future type.
        public let type: String?
        /// The text shown to the customer.
        public let title: String?
        /// The value that the business gave the item; a number is returned as it is written in the JSON.
        public let value: String?

        /// The seconds since 1970-01-01T00:00:00Z of a `datePicker`; `nil` for other types.
        ///
        /// Apple sends the chosen day as `yyyy-MM-dd'T'HH:mm:ss'Z'`: midnight in the device's time zone, converted to
        /// GMT.
        public var dateSeconds: Int? { type == "datePicker" ? value.flatMap(secondsSinceEpoch) : nil }

        init(_ item: JSONValue) {
            identifier = item["identifier"]?.scalarString
            type = item["type"]?.scalarString
            title = item["title"]?.scalarString
            value = item["value"]?.scalarString
        }
    }

    /// The form's template, currently always `messageForms`.
    public let template: String?
    /// The form schema's version, `1.1` or `1.2`.
    public let version: String?
    /// Whether the business marked the form as private.
    ///
    /// Never log the answers of a private form or show them in transcripts.
    public let isPrivate: Bool
    /// The answered pages, in order.
    public let selections: [Page]
    /// The fields that all interactive messages have in common.
    public let interaction: Interaction

    init(_ dynamic: JSONValue, _ interaction: Interaction) {
        template = dynamic["template"]?.scalarString
        version = dynamic["version"]?.scalarString
        isPrivate = Self.isPrivate(dynamic)
        selections = dynamic["selections"]?.objects(Page.init) ?? []
        self.interaction = interaction
    }

    /// Whether a form's answers are private.
    static func isPrivate(_ dynamic: JSONValue) -> Bool {
        // Every value except `false`, "false", 0 and null counts as true, because exposing a private answer cannot
        // be undone.
        dynamic.first("private").map { $0.scalarBool ?? true } ?? false
    }

    /// The answers of a page; `nil` when the customer did not see the page.
    public func page(_ identifier: String) -> Page? {
        selections.first { $0.pageIdentifier == identifier }
    }
}
