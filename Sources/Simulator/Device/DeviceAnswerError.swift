/// The reason why a choice cannot answer an interactive message; its text lists the possible choices.
package enum DeviceAnswerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The message asks no question: it is not interactive, or its kind is unknown.
    case noQuestion
    /// The content is behind a reference, which only a device can read.
    case contentReferred
    /// Nothing was chosen.
    case noChoice(offered: [String])
    /// The message does not offer the item.
    case unknownChoice(String, offered: [String])
    /// Several items have this title: name the item by its number.
    case ambiguousChoice(String, offered: [String])
    /// Several items were chosen, but the message, or one section of it, allows only one.
    case tooManyChoices(offered: [String])
    /// The message has no pages to fill in.
    case noPages(offered: [String])
    /// The message is a form, which is answered page by page; items cannot be chosen directly.
    case pagesOnly(pages: [String])
    /// The form has no such page.
    case unknownPage(String, pages: [String])
    /// The other answers lead to the end of the form without reaching this page.
    case unreachedPage(String, reached: [String])
    /// The page requires an answer, and none was given.
    case missingAnswer(page: String, offered: [String])
    /// The page does not accept the text; `expected` says which text it accepts.
    case refusedAnswer(page: String, String, expected: String)
    /// The form's pages lead to a missing page or in a circle.
    case brokenForm(page: String)
    /// A message of an app can be answered only with one URL, and the choice is not one.
    case noURL

    /// The reason in one line, followed by one line for each possible choice.
    package var description: String { ([reason] + offered.map { "  " + $0 }).joined(separator: "\n") }

    /// The reason in one line.
    package var reason: String {
        switch self {
        case .noQuestion: "the message asks the customer nothing"
        case .contentReferred: "the content is behind a reference, which only a device can read"
        case .noChoice: "nothing is chosen; choose one of"
        case .unknownChoice(let choice, _): "\(choice) is not offered; choose one of"
        case .ambiguousChoice(let choice, _): "several items are called \(choice); choose one by its number"
        case .tooManyChoices: "the message takes one item of a section; choose one of"
        case .noPages: "the message is no form; choose one of"
        case .pagesOnly: "a form is filled in page by page; its pages are"
        case .unknownPage(let page, _): "the form has no page \(page); its pages are"
        case .unreachedPage(let page, _): "the form ends before the page \(page); the pages reached are"
        case .missingAnswer(let page, let offered):
            "the page \(page) must be answered" + (offered.isEmpty ? "" : "; choose one of")
        case .refusedAnswer(let page, let text, let expected):
            "the page \(page) does not accept \(text.debugDescription): \(expected)"
        case .brokenForm(let page): "the form leads from page \(page) to a missing page or in a circle"
        case .noURL: "an app answers with one URL, such as ?parcel=7"
        }
    }

    /// The possible choices, one line each; empty when the message offers none.
    package var offered: [String] {
        switch self {
        case .noChoice(let offered), .unknownChoice(_, let offered), .ambiguousChoice(_, let offered),
            .tooManyChoices(let offered), .noPages(let offered), .pagesOnly(let offered),
            .unknownPage(_, let offered), .unreachedPage(_, let offered), .missingAnswer(_, let offered):
            offered
        case .noQuestion, .contentReferred, .refusedAnswer, .brokenForm, .noURL: []
        }
    }
}
