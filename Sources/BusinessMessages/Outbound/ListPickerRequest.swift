internal import BalloonJSON

/// A list from which the customer chooses one or more items.
///
/// ```json
/// "data": {"listPicker": {"sections": [{"title": "Fruit", "order": 0, "multipleSelection": true, "items": [
///          {"identifier": "apple", "title": "Apple", "order": 0, "style": "default", "imageIdentifier": "1"}]}]}}
/// ```
/// Apple MSP API, "List Picker Message". Devices without ``Capability/listPicker`` cannot show it.
public struct ListPickerRequest: Hashable, Sendable {
    /// Items under one heading.
    public struct Section: Hashable, Sendable {
        /// The heading.
        public let title: String
        /// Whether more than one item of this section may be chosen.
        public let allowsMultipleSelection: Bool
        /// The items, in display order.
        public let items: [Item]

        /// Creates a section.
        public init(_ title: String, allowsMultipleSelection: Bool = false, items: [Item]) {
            self.title = title
            self.allowsMultipleSelection = allowsMultipleSelection
            self.items = items
        }
    }

    /// An item that can be chosen.
    public struct Item: Hashable, Sendable {
        /// The identifier that the answer contains; unique in the list.
        public let identifier: String
        /// The item's text.
        public let title: String
        /// The line under the title.
        public let subtitle: String?
        /// The identifier of one of the message's images, 180 x 180 pixels.
        public let imageIdentifier: String?

        /// Creates an item.
        public init(_ identifier: String, title: String, subtitle: String? = nil, image: String? = nil) {
            self.identifier = identifier
            self.title = title
            self.subtitle = subtitle
            imageIdentifier = image
        }
    }

    /// The sections, in display order.
    public let sections: [Section]
    /// The bubbles, images and identifiers, which all interactive messages have.
    public let presentation: Presentation

    /// Creates a list picker.
    public init(_ sections: [Section], presentation: Presentation) {
        self.sections = sections
        self.presentation = presentation
    }

    func write(to writer: inout JSONWriter, id: MessageID) {
        let sections = sections.enumerated().map { order, section in
            JSONObject([
                "title": section.title, "order": order, "multipleSelection": section.allowsMultipleSelection,
                "items": section.items.enumerated().map { $1.json(order: $0) },
            ])
        }
        presentation.write(to: &writer, id: id, ["listPicker": JSONObject(["sections": sections])])
    }
}

extension ListPickerRequest.Item {
    fileprivate func json(order: Int) -> JSONObject {
        [
            "identifier": identifier, "title": title, "subtitle": subtitle, "order": order,
            "style": "default", "imageIdentifier": imageIdentifier,
        ]
    }
}
