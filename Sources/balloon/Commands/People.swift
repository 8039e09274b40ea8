import ArgumentParser
import BalloonJSON
import MessageServer

/// `balloon people …`: whether the people of a business are available to answer its customers.
struct People: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Say whether people are there to answer the customers of a business.",
        subcommands: [List.self, Open.self, Close.self])

    /// `balloon people list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "List the businesses with people: open or closed, and how many conversations wait or are claimed."
        )

        @OptionGroup var options: ReadingOptions

        func run() async throws {
            let answer = try await ControlSocket(data: try options.data).ask(
                ControlOperations.people, Nothing())
            guard let people = try JSONDocument(answer).root["people"]?.elements else { return }
            options.writeHeader("BUSINESS", "PEOPLE", "CONVERSATIONS")
            for business in people {
                options.write(
                    text(business), json: String(decoding: business.text, as: UTF8.self) + "\n")
            }
        }

        private func text(_ business: JSONValue) -> String {
            let isOpen = business["open"]?.bool ?? true
            let words = [
                business["business"]?.string ?? "", isOpen ? "open" : "closed",
                "\(business["waiting"]?.int ?? 0) waiting", "\(business["person"]?.int ?? 0) with a person",
            ]
            return terminalText(words.joined(separator: "  ")) + "\n"
        }
    }

    /// `balloon people open`.
    struct Open: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Say that people are there: customers who ask for a person get the text of the business's file."
        )

        @Argument(help: "The business's slug.")
        var business: String

        @OptionGroup var options: ReadingOptions

        func run() async throws { try await change(business, isOpen: true, nil, options) }
    }

    /// `balloon people close`.
    struct Close: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Say that nobody is there: customers who ask for a person get --text until people open again."
        )

        @Argument(help: "The business's slug.")
        var business: String

        @Option(help: ArgumentHelp("The text that customers get, such as \"Back at 9.\".", valueName: "text"))
        var text: String

        @OptionGroup var options: ReadingOptions

        func validate() throws {
            guard !text.allSatisfy(\.isWhitespace), text.utf8.count <= 2000 else {
                throw People.badText
            }
        }

        func run() async throws { try await change(business, isOpen: false, text, options) }
    }

    private static var badText: ValidationError {
        ValidationError("--text is blank or longer than 2,000 bytes")
    }

    private static func change(
        _ business: String, isOpen: Bool, _ text: String?, _ options: ReadingOptions
    ) async throws {
        guard let presence = Presence(isOpen: isOpen, text: text) else { throw Self.badText }
        do {
            _ = try await ControlSocket(data: try options.data).ask(
                ControlOperations.changePeople, PeopleChange(business, presence))
        } catch CommandFailure.refused(status: 404, answer: _) {
            throw CommandFailure.unknownArgument(
                "\"\(terminalText(business))\"", reason: "is not a business with people",
                hint: "run balloon people list to see the businesses")
        }
        options.write(
            "\(business) is \(isOpen ? "open" : "closed")\n",
            json: jsonLine { writer in
                writer.field("business", business)
                writer.field("open", isOpen)
            })
    }
}
