package import BalloonPOSIX
package import BusinessMessages
import Dispatch
package import Logging
import Synchronization

/// Whether the people of a business are available to answer its customers.
package struct Presence: Hashable, Sendable {
    /// Whether the business's people are available to answer customers now.
    package var isOpen = true
    /// The text for customers while no person is available.
    package var text: String?
    /// When the people are available again by themselves; nil when they must say so.
    package var until: Timestamp?

    /// The presence of a business whose people are available.
    package static let open = Presence()

    /// Creates a presence; nil when `text` is blank or longer than 2,000 bytes, or missing although `isOpen` is false, and
    /// with `until` although `isOpen` is true.
    package init?(isOpen: Bool, text: String?, until: Timestamp? = nil) {
        if let text {
            guard !text.unicodeScalars.allSatisfy(\.properties.isWhitespace),
                text.utf8.count <= PeopleConfiguration.maximumTextBytes
            else { return nil }
        }
        guard isOpen ? until == nil : text != nil else { return nil }
        (self.isOpen, self.text, self.until) = (isOpen, text, until)
    }

    private init() {}

    /// The text that replaces `people.text` while no person is available; nil while the business is open.
    var closedText: String? { isOpen ? nil : text }

    /// Whether the text should say when people answer again, which nothing tells.
    package var lacksUntil: Bool {
        until == nil && closedText?.contains(OpeningPhrase.placeholder) ?? false
    }
}

/// The presence of the people of each business, stored in the file `DATA/people.json`.
///
/// `{"format":1,"businesses":{"5a6b…":{"open":false,"text":"Back at 9.","closings":[{"from":"…"}]}}}`; a business that the
/// file omits is open. `closings` are the last times at which people closed, because they are no opening time.
package final class PeoplePresence: Sendable {
    private let file: BusinessesFile
    /// The businesses of the file; nil when the file is unreadable, and then it is never replaced.
    private let state: Mutex<[BusinessID: Entry]?>
    private let queue = DispatchQueue(label: "balloon.people")

    /// The maximum number of businesses in the file.
    private static let maximumCount = 100_000
    /// How many closings of a business are kept, and how long: no wait is longer.
    private static let maximumClosings = 50
    private static let closingsTime = Duration.seconds(60 * 86_400)

    private struct Entry {
        var presence = Presence.open
        /// The earliest first; one that lasts has the end ``Timestamp/never``, or that of the presence.
        var closings: [Range<Timestamp>] = []
    }

    /// Reads the file of a data directory; when the file is missing, every business is open.
    ///
    /// When the file is unreadable, an error is logged and every business is open too. A customer may then
    /// wait in vain for a person, but no customer is wrongly told that no person is available.
    package init(dataDirectory: String, logger: Logger) {
        file = BusinessesFile(directory: dataDirectory, name: "people.json")
        state = Mutex(
            file.values(
                logger, consequence: "the people of every business count as available",
                hint: "correct the file, or remove it, and restart the server",
                maximumCount: Self.maximumCount, Self.entry))
    }

    /// The presence of a business's people now.
    package subscript(business: BusinessID) -> Presence { presence(of: business, at: .now()) }

    /// The presence of a business's people at a time not before the last change.
    func presence(of business: BusinessID, at now: Timestamp) -> Presence {
        let presence = state.withLock { $0?[business]?.presence } ?? .open
        return presence.until.map { $0 <= now } ?? false ? .open : presence
    }

    /// The last times at which the people of a business closed, the earliest first.
    func closings(of business: BusinessID) -> [Range<Timestamp>] {
        state.withLock { $0?[business]?.closings } ?? []
    }

    /// The refusal of a change while the file is damaged: the presence of other businesses would be lost.
    package struct Unreadable: Error {}

    /// Changes the presence of a business's people; durable when it returns.
    ///
    /// Throws ``Unreadable`` or a `SystemError`.
    package func change(
        _ business: BusinessID, to presence: Presence, at now: Timestamp = .now()
    ) async throws {
        try await queue.run { [self] () throws in
            guard var all = state.withLock({ $0 }) else { throw Unreadable() }
            var closings = closings(of: business).map {
                $0.clamped(to: $0.lowerBound..<max($0.lowerBound, now))
            }
            if !presence.isOpen { closings.append(now..<max(now, presence.until ?? .never)) }
            let oldest = Timestamp(
                milliseconds: now.milliseconds - Int64(Self.closingsTime.wholeMilliseconds))
            closings.removeAll { $0.isEmpty || $0.upperBound < oldest }
            closings = closings.suffix(Self.maximumClosings)
            all[business] =
                presence == .open && closings.isEmpty ? nil : Entry(presence: presence, closings: closings)
            try file.write(BusinessesFile.text(all, Self.write))
            state.withLock { [all] in $0 = all }
        }
    }

    private static func write(_ entry: Entry, _ business: String, to writer: inout JSONWriter) {
        writer.object(business) { writer in
            entry.presence.write(to: &writer)
            if entry.closings.isEmpty { return }
            writer.list("closings", entry.closings) { closing, writer in
                let end = closing.upperBound == .never ? nil : closing.upperBound.rfc3339
                writer.object(["from": closing.lowerBound.rfc3339, "until": end])
            }
        }
    }

    private static func entry(_ json: JSONValue) -> Entry? {
        guard let presence = Presence(json) else { return nil }
        // A file of an older version does not say since when the people are away.
        let all = presence.isOpen ? [] : [Timestamp(milliseconds: 0)..<(presence.until ?? .never)]
        return Entry(
            presence: presence, closings: json["closings"]?.elements.compactMap(Self.closing) ?? all)
    }

    private static func closing(_ json: JSONValue) -> Range<Timestamp>? {
        guard let begin = json["from"]?.string.flatMap({ Timestamp(rfc3339: $0) }) else { return nil }
        return begin..<max(begin, json["until"]?.string.flatMap { Timestamp(rfc3339: $0) } ?? .never)
    }
}

extension Presence {
    /// Reads an object such as `{"open": false, "text": "Back at 9."}`; nil when a member is missing or invalid.
    package init?(_ json: JSONValue) {
        guard let isOpen = json["open"]?.bool else { return nil }
        let text = json["text"]
        if let text, text.string == nil, !text.isNull { return nil }
        var until: Timestamp?
        if let value = json["until"], !value.isNull {
            guard let time = value.string.flatMap({ Timestamp(rfc3339: $0) }) else { return nil }
            until = time
        }
        self.init(isOpen: isOpen, text: text?.string, until: until)
    }

    /// Writes the members `open`, `text` and `until`.
    package func write(to writer: inout JSONWriter) {
        writer.fields(["open": isOpen, "text": text, "until": until?.rfc3339])
    }
}
