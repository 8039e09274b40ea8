/// The statements of a business for the reviewer: use cases, languages, persons, brand and declarations.
///
/// The brief is a JSON file whose schema is `config/schemas/brief.schema.json`. Every member but `format` may be missing; the checks
/// that need one then say "not tested".
package struct Brief: Sendable, Equatable {
    /// Something that customers do: the first words, the choices after them, and the kinds that must appear.
    package struct UseCase: Sendable, Equatable {
        package var name = ""
        package var words = ""
        package var path: [String] = []
        package var expect: [String] = []
    }

    /// A language that the business supports.
    package struct LanguageCase: Sendable, Equatable {
        package var locale = ""
        /// The customer's greeting in the language.
        package var hello = ""
        /// The customer's word for a person in the language.
        package var help = ""
        /// A word that the business's greeting must have in this language.
        package var expect = ""

        /// Creates a language without words.
        package init(locale: String, hello: String = "", help: String = "", expect: String = "") {
            (self.locale, self.hello, self.help, self.expect) = (locale, hello, help, expect)
        }

        /// The greeting, and then the word for a person; in English where the brief says nothing.
        var steps: [Step] { [.say(hello.isEmpty ? "Hi" : hello), .say(help.isEmpty ? "help" : help)] }
    }

    /// A person of the help desk: the words at the take-over, and a closing sentence as the last one.
    package struct Agent: Sendable, Equatable {
        package var name = ""
        package var says: [String] = []
    }

    /// An image file of the logo.
    package struct Logo: Sendable, Equatable {
        package var file = ""
        /// The color behind the logo, as `#rrggbb`.
        package var background = ""
    }

    package var useCases: [UseCase] = []
    package var languages: [LanguageCase] = []
    /// The opening hours in words.
    package var hours = ""
    /// The text that customers read while the help desk is closed, as in `balloon people close --text`.
    package var closedText = ""
    package var agents: [Agent] = []
    /// The user name of the test sign-in.
    package var signIn = ""
    /// The business's own hosts.
    package var domains: [String] = []
    /// The name as it is registered with Apple.
    package var brand = ""
    package var logos: [Logo] = []
    /// Pages of the website with the button that begins a conversation: files, or addresses with https.
    package var entryPages: [String] = []
    /// Notices about orders or the account that the business sends; empty for none, nil when the brief does not say.
    package var notices: [String]?
    /// The declarations of the business, by the names of ``Declaration``; nil when the brief does not say.
    package var declarations: [Declaration: Bool] = [:]

    /// A statement that only the business can make.
    package enum Declaration: String, CaseIterable, Sendable {
        case noExcludedIndustry, oneCommercialAccount, testAccounts, agentsTrained, testCredentials

        /// The statement.
        package var words: String {
            switch self {
            case .noExcludedIndustry:
                "The business sells nothing that Apple excludes: tobacco, arms, gambling, drugs, pornography, politics, prepaid money."
            case .oneCommercialAccount: "The company has one commercial account only."
            case .testAccounts: "The account is limited to named Apple Accounts until the review has ended."
            case .agentsTrained: "Trained persons are present while Apple tests."
            case .testCredentials: "Apple gets credentials for every use case that needs a sign-in."
            }
        }
    }

    /// Creates an empty brief.
    package init() {}

    /// The customer's greeting: that of the first language, or "Hi".
    var hello: String { languages.first.map { $0.hello.isEmpty ? "Hi" : $0.hello } ?? "Hi" }

    /// The locale of scenes that are not about languages.
    var locale: String? { languages.first?.locale }

    /// The language of scenes that are not about languages, such as `en`.
    var language: String { LanguageWords.key(locale ?? "en") }

    /// The first or the second person; without one in the brief, a person of the review.
    package func agent(second: Bool) -> Agent {
        let agent = agents.dropFirst(second ? 1 : 0).first
        return agent ?? Agent(name: second ? "Ben" : "Ana", says: [])
    }
}
