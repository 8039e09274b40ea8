public import ArgumentParser
import BalloonPOSIX
public import BusinessMessages
public import HandlerKit
import MessageServer
package import MessageStore
import Payments

/// The filter options of commands about events.
struct EventFilterOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Only events of this business: its slug, its identifier, or the beginning of either.",
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

    /// Returns this filter with the identifier of the named business; throws unless the name matches one
    /// business.
    func resolved(_ options: ReadingOptions) throws -> EventFilterOptions {
        var filter = self
        filter.business = try options.business(business)?.rawValue
        return filter
    }

    /// Whether the event passes the filter; only for a filter that ``resolved(_:)`` returned.
    func admits(_ event: JournalEvent) -> Bool {
        (status == nil || event.status == status) && (business == nil || event.business.rawValue == business)
            && since.map { event.at >= $0 } ?? true && until.map { event.at < $0 } ?? true
            && (kind == nil || EventRendering.subscription(event) == kind)
    }

    /// Whether the reply passes the filter, by the time at which the handler decided on it.
    ///
    /// Only for a filter that ``resolved(_:)`` returned.
    func admits(_ reply: JournalReply) -> Bool {
        (status == nil || reply.status.rawValue == status?.rawValue)
            && (business == nil || reply.business.rawValue == business)
            && since.map { reply.decidedAt >= $0 } ?? true && until.map { reply.decidedAt < $0 } ?? true
            && (kind == nil || .kind(reply.kind) == kind)
    }

    /// Whether the reversal passes the filter, by the time at which it became a dead letter.
    ///
    /// A reversal has neither the kind nor the status of a message. Only for a filter that ``resolved(_:)``
    /// returned.
    func admits(_ reversal: AttemptReversal) -> Bool {
        let at = reversal.attempt.changedAt
        return status == nil && kind == nil && (business == nil || reversal.business.rawValue == business)
            && since.map { at >= $0 } ?? true && until.map { at < $0 } ?? true
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
