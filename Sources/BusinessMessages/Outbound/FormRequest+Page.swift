internal import BalloonJSON

extension FormRequest {
    /// One page of a form: a choice, a wheel, a date or an input field.
    ///
    /// Apple MSP API, "Types of Pages". A page without ``nextPageIdentifier`` is a last one, unless its items say
    /// where to go.
    public struct Page: Hashable, Sendable {
        /// Something to choose on a page.
        public struct Item: Hashable, Sendable {
            /// What comes back as the answer's `identifier`.
            public let identifier: String
            /// What the customer sees.
            public let title: String
            /// What comes back as the answer's `value`.
            public let value: String
            /// Names one of the message's images; `select` only.
            public let imageIdentifier: String?
            /// The page that follows this choice; `select` with a single choice only.
            public let nextPageIdentifier: String?

            /// Makes an item.
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

        /// The page's identifier, shorter than 20 characters and different from those of the other pages.
        public let identifier: String
        /// The headline.
        public let title: String?
        /// The question.
        public let subtitle: String?
        /// The page that follows; `nil` on a last page.
        public let nextPageIdentifier: String?
        /// Whether the form is sent after this page.
        public let submitsForm: Bool
        let content: Content

        /// Makes a page on which one item is chosen, or several.
        public static func select(
            _ identifier: String, title: String? = nil, subtitle: String?, items: [Item],
            isMultiple: Bool = false, next: String? = nil, submitsForm: Bool = false
        ) -> Page {
            Page(
                identifier: identifier, title: title, subtitle: subtitle, nextPageIdentifier: next,
                submitsForm: submitsForm, content: .select(items, isMultiple: isMultiple))
        }

        /// Makes a page with a wheel; `pickerTitle` stands beside it, `selectedIndex` counts from 0.
        public static func picker(
            _ identifier: String, title: String? = nil, subtitle: String? = nil, pickerTitle: String? = nil,
            items: [Item], selectedIndex: Int? = nil, next: String? = nil, submitsForm: Bool = false
        ) -> Page {
            Page(
                identifier: identifier, title: title, subtitle: subtitle, nextPageIdentifier: next,
                submitsForm: submitsForm,
                content: .picker(items, title: pickerTitle, selectedIndex: selectedIndex))
        }

        /// Makes a page that asks for a date; `hint` stands under the field.
        public static func date(
            _ identifier: String, title: String? = nil, subtitle: String?,
            options: DateOptions = DateOptions(),
            hint: String? = nil, next: String? = nil, submitsForm: Bool = false
        ) -> Page {
            Page(
                identifier: identifier, title: title, subtitle: subtitle, nextPageIdentifier: next,
                submitsForm: submitsForm, content: .datePicker(options, hint: hint))
        }

        /// Makes a page with an input field; `hint` stands under it.
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

extension FormRequest.Page {
    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("pageIdentifier", identifier)
            writer.field("type", type)
            writer.field("title", title)
            writer.field("subtitle", subtitle)
            writer.field("nextPageIdentifier", nextPageIdentifier)
            if submitsForm { writer.field("submitForm", true) }
            writeContent(to: &writer)
        }
    }

    private var type: String {
        switch content {
        case .select: "select"
        case .picker: "picker"
        case .datePicker: "datePicker"
        case .input: "input"
        }
    }

    private func writeContent(to writer: inout JSONWriter) {
        switch content {
        case .select(let items, let isMultiple):
            writer.field("multipleSelection", isMultiple)
            writer.list("items", items) { $0.write(to: &$1) }
        case .picker(let items, let title, let selectedIndex):
            writer.field("pickerTitle", title)
            writer.field("selectedItemIndex", selectedIndex)
            writer.list("items", items) { $0.write(to: &$1) }
        case .datePicker(let options, let hint):
            writer.field("hintText", hint)
            options.write(to: &writer)
        case .input(let options, let hint):
            writer.field("hintText", hint)
            options.write(to: &writer)
        }
    }
}

extension FormRequest.Page.Item {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("identifier", identifier)
            writer.field("title", title)
            writer.field("value", value)
            writer.field("imageIdentifier", imageIdentifier)
            writer.field("nextPageIdentifier", nextPageIdentifier)
        }
    }
}
