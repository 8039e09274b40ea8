public import ArgumentParser
import BalloonPOSIX
public import BusinessMessages
public import HandlerKit
package import MessageStore

/// The filter options of commands about events.
struct EventFilter: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Only events of this business: its slug, its identifier, or the beginning of one.",
            valueName: "business"))
    var business: String?

    @Option(help: "Only events of this kind, or replyFailed.")
    var kind: Subscription?

    @Option(
        help: ArgumentHelp("Only events that arrived at this time or later (RFC 3339).", valueName: "time"))
    var since: Timestamp?

    @Option(help: ArgumentHelp("Only events that arrived before this time (RFC 3339).", valueName: "time"))
    var until: Timestamp?

    @Option(help: "Only events with this status.")
    var status: JournalEvent.Status?

    /// The same filter with the identifier of its business; throws when no business matches.
    func resolved(_ options: ReadingOptions) throws -> EventFilter {
        var filter = self
        filter.business = try options.business(business)?.rawValue
        return filter
    }

    /// Whether the event passes the filter, which was resolved.
    func admits(_ event: JournalEvent) -> Bool {
        (status == nil || event.status == status) && (business == nil || event.business.rawValue == business)
            && since.map { event.at >= $0 } ?? true && until.map { event.at < $0 } ?? true
            && (kind == nil || EventRendering.subscription(event) == kind)
    }

    /// Whether the reply passes the filter; its time is that of the decision.
    func admits(_ reply: JournalReply) -> Bool {
        (status == nil || reply.status.rawValue == status?.rawValue)
            && (business == nil || reply.business.rawValue == business)
            && since.map { reply.decidedAt >= $0 } ?? true && until.map { reply.decidedAt < $0 } ?? true
            && (kind == nil || .kind(reply.kind) == kind)
    }
}

extension Kind: ExpressibleByArgument {}

extension Subscription: ExpressibleByArgument {
    /// Reads a kind's name, or `replyFailed`.
    public init?(argument: String) { self.init(name: argument) }

    /// Every name.
    public static var allValueStrings: [String] { all.map(\.name) }
}

extension JournalEvent.Status: ExpressibleByArgument {}

extension Timestamp: ExpressibleByArgument {
    /// Parses RFC 3339 §5.6.
    init?(argument: String) { self.init(rfc3339: argument) }
}
