package import BalloonJSON

extension FormRequest {
    /// One page of a form: a choice, a wheel, a date or an input field.
    ///
    /// Apple MSP API, "Types of Pages". The form ends after a page without ``nextPageIdentifier``, unless the page's
    /// items name a next page.
    public struct Page: Hashable, Sendable {
        /// An item that can be chosen on a page.
        public struct Item: Hashable, Sendable {
            /// The answer's `identifier` when the customer chooses the item.
            public let identifier: String
            /// The text shown to the customer.
            public let title: String
            /// The answer's `value` when the customer chooses the item.
            public let value: String
            /// The identifier of one of the message's images; for `select` pages only.
            public let imageIdentifier: String?
            /// The identifier of the page that follows this choice; for `select` pages with a single choice only.
            public let nextPageIdentifier: String?

            /// Creates an item.
            public init(
                _ identifier: String, title: String, value: String, image: String? = nil,
                next nextPageIdentifier: String? = nil
            ) {
                self.identifier = identifier
                self.title = title
                self.value = value
                imageIdentifier = image
                self.nextPageIdentifier = nextPageIdentifier
            }
        }

        enum Content: Hashable, Sendable {
            case select([Item], isMultiple: Bool)
            case picker([Item], title: String?, selectedIndex: Int?)
            case datePicker(DateOptions, hint: String?)
            case input(InputOptions, hint: String?)
        }

        /// The page's identifier, shorter than 20 characters and unique in the form.
        public let identifier: String
        /// The headline.
        public let title: String?
        /// The question.
        public let subtitle: String?
        /// The identifier of the next page; `nil` on a page that ends the form.
        public let nextPageIdentifier: String?
        /// Whether the form is sent after this page.
        public let submitsForm: Bool
        let content: Content

        /// Creates a page with one or several choices.
        public static func select(
            _ identifier: String, title: String? = nil, subtitle: String?, items: [Item],
            isMultiple: Bool = false, next: String? = nil, submitsForm: Bool = false
        ) -> Page {
            Page(
                identifier: identifier, title: title, subtitle: subtitle, nextPageIdentifier: next,
                submitsForm: submitsForm, content: .select(items, isMultiple: isMultiple))
        }

        /// Creates a page with a wheel of items.
        ///
        /// `pickerTitle` is the wheel's label; `selectedIndex`, from 0, is the preselected item.
        public static func picker(
            _ identifier: String, title: String? = nil, subtitle: String? = nil, pickerTitle: String? = nil,
            items: [Item], selectedIndex: Int? = nil, next: String? = nil, submitsForm: Bool = false
        ) -> Page {
            Page(
                identifier: identifier, title: title, subtitle: subtitle, nextPageIdentifier: next,
                submitsForm: submitsForm,
                content: .picker(items, title: pickerTitle, selectedIndex: selectedIndex))
        }

        /// Creates a page that asks for a date; `hint` is displayed under the field.
        public static func date(
            _ identifier: String, title: String? = nil, subtitle: String?,
            options: DateOptions = DateOptions(),
            hint: String? = nil, next: String? = nil, submitsForm: Bool = false
        ) -> Page {
            Page(
                identifier: identifier, title: title, subtitle: subtitle, nextPageIdentifier: next,
                submitsForm: submitsForm, content: .datePicker(options, hint: hint))
        }

        /// Creates a page with an input field; `hint` is displayed under the field.
        public static func input(
            _ identifier: String, title: String? = nil, subtitle: String?,
            options: InputOptions = InputOptions(), hint: String? = nil, next: String? = nil,
            submitsForm: Bool = false
        ) -> Page {
            Page(
                identifier: identifier, title: title, subtitle: subtitle, nextPageIdentifier: next,
                submitsForm: submitsForm, content: .input(options, hint: hint))
        }
    }
}

extension FormRequest.Page: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        let (type, members): (String, JSONObject) =
            switch content {
            case .select(let items, let isMultiple):
                ("select", ["multipleSelection": isMultiple, "items": items])
            case .picker(let items, let title, let selectedIndex):
                ("picker", ["pickerTitle": title, "selectedItemIndex": selectedIndex, "items": items])
            case .datePicker(let options, let hint):
                ("datePicker", ["hintText": hint, "options": options.object])
            case .input(let options, let hint): ("input", ["hintText": hint, "options": options.object])
            }
        writer.object { writer in
            writer.fields([
                "pageIdentifier": identifier, "type": type, "title": title, "subtitle": subtitle,
                "nextPageIdentifier": nextPageIdentifier, "submitForm": submitsForm ? true : nil,
            ])
            writer.fields(members)
        }
    }
}

extension FormRequest.Page.Item: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.object([
            "identifier": identifier, "title": title, "value": value, "imageIdentifier": imageIdentifier,
            "nextPageIdentifier": nextPageIdentifier,
        ])
    }
}
