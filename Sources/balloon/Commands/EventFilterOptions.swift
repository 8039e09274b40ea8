public import ArgumentParser
import BalloonPOSIX
public import HandlerKit
import MessageServer
package import MessageStore
import Payments

/// The filter options of commands about events.
struct EventFilterOptions: ParsableArguments {
    @Option(help: .business)
    var business: String?

    @Option(help: "Only events of this kind, or replyFailed.")
    var kind: Subscription?

    @Option(help: .value("time", "Only events that arrived at this time or later (RFC 3339)."))
    var since: Timestamp?

    @Option(help: .value("time", "Only events that arrived before this time (RFC 3339)."))
    var until: Timestamp?

    @Option(help: "Only events with this status.")
    var status: JournalEvent.Status?

    /// Returns the selection with these filters; throws unless the name of the business matches one business.
    func resolved(_ options: ReadingOptions) throws -> MessageSelection {
        var selection = MessageSelection()
        selection.business = try options.business(business)
        (selection.kind, selection.status) = (kind, status)
        (selection.since, selection.until) = (since, until)
        return selection
    }
}

extension Kind: ExpressibleByArgument {}

extension Subscription: ExpressibleByArgument {
    /// Parses a kind's name, or `replyFailed`; nil for any other text.
    public init?(argument: String) { self.init(name: argument) }

    /// The names of all kinds, and `replyFailed`; the help text lists them.
    public static var allValueStrings: [String] { all.map(\.name) }
}

extension JournalEvent.Status: ExpressibleByArgument {}

extension Timestamp: ExpressibleByArgument {
    /// Parses a time such as `2026-11-21T10:00:00Z` (RFC 3339 §5.6); nil for any other text.
    init?(argument: String) { self.init(rfc3339: argument) }
}
