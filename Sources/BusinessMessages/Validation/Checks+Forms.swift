internal import BalloonJSON

extension Checks {
    /// The maximum number of characters of a page's identifier: fewer than 20.
    static let maximumPageIdentifierCharacters = 19

    static let dynamic = object(
        "Form Message, request payload",
        [
            .required("version", all(words, formVersion)),
            .required("template", oneOf(["messageForms"], .formTemplate)), .required("data", form),
        ])

    private static let formVersion = refuse(.formVersion, allowed: "1.1 or 1.2") { value in
        value.kind == .string && !value.isEmptyText && !["1.1", "1.2"].contains(where: value.equals)
    }

    private static let form = object(
        "Data Dictionary Objects",
        [
            .required("startPageIdentifier", words), .required("pages", list(of: page, minimum: 1)),
            .optional("private", boolean), .optional("showSummary", boolean), .optional("splash", splash),
        ], then: checkPageGraph)

    private static let splash = object(
        "Data Dictionary Objects",
        [
            .optional("header", text), .optional("splashtext", text), .optional("buttonTitle", text),
            .optional("imageIdentifier", imageIdentifier),
        ],
        then: refuse(
            .splashButton, missing: "buttonTitle", allowed: "a text; without it the screen is omitted"
        ) { $0["buttonTitle"]?.nonEmptyString == nil })

    // Checks of the pages of forms.

    static let pageTypes = ["select", "picker", "datePicker", "input"]

    private static let commonPage: [Member] = [
        .required(
            "pageIdentifier",
            text(atMost: maximumPageIdentifierCharacters, .pageIdentifier, mayBeEmpty: false)),
        .required("type", oneOf(pageTypes, .pageType)), .optional("title", text), .optional("subtitle", text),
        .optional("nextPageIdentifier", text), .optional("submitForm", boolean),
    ]

    private static let page: Check = { value, inspection in
        let type = pageTypes.first { value["type"]?.equals($0) ?? false } ?? ""
        let particular: [Member] =
            switch type {
            case "select": selectPage
            case "picker": pickerPage
            case "datePicker": datePage
            case "input": inputPage
            default: []
            }
        inspection.inspect(value, as: commonPage + particular, in: "Types of Pages") { page, inspection in
            if type != "picker" { checkQuestion(page, &inspection) }
            unique(in: "items", .pageItemIdentifiers)(page, &inspection)
            checkNextPages(of: page, &inspection)
            if type == "select" { checkItemPages(of: page, &inspection) }
            if type == "picker" { checkSelectedItem(of: page, &inspection) }
        }
    }

    /// Checks that a page has a question; a `picker` page needs none, because Apple's sample of such a page
    /// has none.
    private static let checkQuestion = refuse(
        .pageQuestion, missing: "subtitle", allowed: "the page's question"
    ) { $0["subtitle"]?.nonEmptyString == nil }

    private static let selectPage: [Member] = [
        .optional("multipleSelection", boolean),
        .required(
            "items",
            list(
                of: object(
                    "Types of Pages",
                    formItem + [
                        .optional("imageIdentifier", imageIdentifier), .optional("nextPageIdentifier", text),
                    ]), minimum: 1)),
    ]

    private static let pickerPage: [Member] = [
        .optional("pickerTitle", text), .optional("selectedItemIndex", integer),
        .required("items", list(of: object("Types of Pages", formItem), minimum: 1)),
    ]

    private static let formItem: [Member] = [
        .required("identifier", words), .required("title", words), .required("value", text),
    ]

    /// Checks that a page with `submitForm`, which ends the form, names no next page.
    private static func checkNextPages(of page: JSONValue, _ inspection: inout Inspection) {
        guard page["submitForm"]?.bool == true else { return }
        for next in nextPages(of: page) where next.nonEmptyString != nil {
            inspection.report(.submitPage, at: next, allowed: "nothing, since the page ends the form")
        }
    }

    private static func checkItemPages(of page: JSONValue, _ inspection: inout Inspection) {
        let items = page["items"]?.objects ?? []
        if page["multipleSelection"]?.bool == true {
            for next in items.compactMap({ $0["nextPageIdentifier"] }) {
                inspection.report(.itemNextPage, at: next, allowed: "nothing, since several can be chosen")
            }
        } else if page["nextPageIdentifier"]?.nonEmptyString == nil,
            items.contains(where: { $0["nextPageIdentifier"]?.nonEmptyString != nil })
        {
            for item in items where item["nextPageIdentifier"]?.nonEmptyString == nil {
                inspection.report(
                    .branchItem, at: item, missing: "nextPageIdentifier",
                    allowed: "a next page, because another item of this page has one")
            }
        }
    }

    private static func checkSelectedItem(of page: JSONValue, _ inspection: inout Inspection) {
        guard let selected = page["selectedItemIndex"], let index = selected.int,
            let count = page["items"]?.count, !(0..<count).contains(index)
        else { return }
        inspection.report(.selectedItem, at: selected, allowed: "0 to \(count - 1)")
    }
}
