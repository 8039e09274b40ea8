import ArgumentParser
import BalloonPOSIX
import BusinessMessages
import MessageServer
import MessageStore

/// `balloon payments …`: the payments of customers.
struct PaymentsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "payments", abstract: "List the attempts to pay and their states.",
        subcommands: [List.self])

    /// `balloon payments list`: lists attempts without tokens, cards and contacts.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "List the attempts to pay, oldest first: time, business, state, sum, reference, attempt.",
            discussion: """
                The state is begun, uncertain, succeeded, failed, reversing, reversed, unreversed or dropped. An \
                uncertain attempt may still be charged, and is reversed later. Look for an unreversed \
                attempt at the payment provider: its handler never confirmed that no charge remains. Then run balloon \
                deadletters retry or drop.
                """)

        @Option(help: .value("slug", "Only attempts of the business with this slug."))
        var business: String?

        @OptionGroup var options: ReadingOptions

        func run() async throws {
            try options.check()
            let (entries, unreadable) = try PaymentRecordList(dataDirectory: try options.data).attempts(
                of: business)
            options.writeHeader("TIME", "BUSINESS", "STATE", "SUM", "REFERENCE", "ATTEMPT")
            for entry in entries { options.write(Self.text(entry), json: PaymentsCommand.json(entry)) }
            if unreadable > 0 {
                StandardStream.error.write("warning: \(unreadable) damaged lines are not listed\n")
            }
        }

        private static func text(_ entry: PaymentRecordList.Entry) -> String {
            terminalText(
                "\(entry.at)  \(entry.slug)  \(entry.state)  \(entry.amount) \(entry.currency)  "
                    + "\(entry.reference ?? "-")  \(entry.attempt)") + "\n"
        }
    }

    /// The latest state of an attempt as one line of JSON.
    static func json(_ entry: PaymentRecordList.Entry) -> String {
        jsonLine([
            "at": entry.at, "business": entry.slug, "request": entry.request, "attempt": entry.attempt,
            "state": entry.state, "amount": entry.amount, "currency": entry.currency,
            "reference": entry.reference, "customer": entry.customer,
        ])
    }
}
