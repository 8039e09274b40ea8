internal import BalloonJSON

/// The items that the customer chose in a list picker.
///
/// ```json
/// "data": {"listPicker": {"sections": [{"title": "You Selected", "items": [
///          {"identifier": "0", "title": "Apples", "order": 0, "imageIdentifier": "1"}]}]}}
/// ```
/// Apple MSP API, "List Picker Message". Apple's tables use the name `listPickerItem` for `items`; both names are
/// accepted.
public struct ListPicker: Sendable {
    /// The chosen items under one heading.
    public struct Section: Equatable, Sendable {
        /// The heading.
        public let title: String?
        /// The section's place among the sections.
        public let order: Int?
        /// Whether more than one item could be chosen.
        public let multipleSelection: Bool?
        /// The chosen items.
        public let items: [Item]

        init(_ value: JSONValue) {
            title = value["title"]?.scalarString
            order = value["order"]?.scalarInt
            multipleSelection = value["multipleSelection"]?.scalarBool
            items = value.first("items", "listPickerItem")?.objects(Item.init) ?? []
        }
    }

    /// A chosen item.
    public struct Item: Equatable, Sendable {
        /// The item's identifier, chosen by the business.
        public let identifier: String?
        /// The item's text.
        public let title: String?
        /// The line under the title.
        public let subtitle: String?
        /// The item's place in its section.
        public let order: Int?
        /// `default`, or a future style.
        public let style: String?
        /// The identifier of one of the interaction's images.
        public let imageIdentifier: String?

        init(_ value: JSONValue) {
            identifier = value["identifier"]?.scalarString
            title = value["title"]?.scalarString
            subtitle = value["subtitle"]?.scalarString
            order = value["order"]?.scalarInt
            style = value["style"]?.scalarString
            imageIdentifier = value["imageIdentifier"]?.scalarString
        }
    }

    /// The sections with chosen items.
    public let sections: [Section]
    /// The fields that all interactive messages have in common.
    public let interaction: Interaction

    init(_ listPicker: JSONValue, _ interaction: Interaction) {
        let sections = listPicker["sections"]?.objects ?? listPicker.objects
        self.sections = sections.map(Section.init)
        self.interaction = interaction
    }

    /// The chosen items of all sections.
    public var selectedItems: [Item] { sections.flatMap(\.items) }

    /// The title of the reply's bubble, usually the titles of the chosen items.
    public var replyTitle: String? { interaction.replyMessage?.title }
}
