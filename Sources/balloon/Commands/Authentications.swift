import ArgumentParser
import BalloonPOSIX
import BusinessMessages
import MessageServer
import MessageStore

/// `balloon authentications …`: the sign-ins that wait for their customers.
struct Authentications: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List the requests to sign in that are open.", subcommands: [List.self])

    /// `balloon authentications list`: lists open sign-ins without their secrets.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "List the requests to sign in, oldest first: reply, begin, phase, end of the phase, business, customer.",
            discussion: """
                Requests that ended are listed until their delivery has ended, and expired ones for a day. No state, key or \
                identity is shown.
                """)

        @Option(help: .business)
        var business: String?

        @OptionGroup var options: ReadingOptions

        func run() async throws {
            let business = try options.business(business)
            try options.check()
            let (requests, unreadable) = try RequestFiles(dataDirectory: try options.data).all()
            options.writeHeader("REPLY", "BEGIN", "PHASE", "UNTIL", "BUSINESS", "CUSTOMER")
            for request in requests
            where request.kind != .payment && (business == nil || request.business == business)
                // An event that was delivered leaves nothing but its identity behind.
                && (request.phase != .expired || request.releasedBy == nil)
            {
                options.write(Self.text(request), json: Self.json(request))
            }
            if unreadable > 0 {
                StandardStream.error.write(
                    "warning: \(unreadable) damaged files are not listed; run balloon conversations verify\n")
            }
        }

        /// `57.1  2026-11-21T10:00:00.123Z  open  2026-11-21T10:10:00.123Z  BUSINESS  CUSTOMER`.
        private static func text(_ request: OpenRequest) -> String {
            terminalText(
                "\(request.entry)  \(request.begunAt.rfc3339)  \(request.phase.rawValue)  \(request.until.rfc3339)  "
                    + "\(request.business)  \(request.customer)") + "\n"
        }

        /// `{"reply":"57.1","begunAt":"…","phase":"open","until":"…","business":"…","customer":"…",`
        /// `"requestIdentifier":"…","event":"…"}`; `event` is Apple's event, when it arrived.
        private static func json(_ request: OpenRequest) -> String {
            jsonLine([
                "reply": "\(request.entry)", "begunAt": request.begunAt.rfc3339,
                "phase": request.phase.rawValue, "until": request.until.rfc3339,
                "business": request.business.rawValue, "customer": request.customer.rawValue,
                "requestIdentifier": request.requestIdentifier, "event": request.releasedBy?.rawValue,
            ])
        }
    }
}
