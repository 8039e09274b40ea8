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

    /// The presence of a business whose people are available.
    package static let open = Presence()

    /// Creates a presence; nil when `text` is blank or longer than 2,000 bytes, or missing although `isOpen` is false.
    package init?(isOpen: Bool, text: String?) {
        if let text {
            guard !text.unicodeScalars.allSatisfy(\.properties.isWhitespace),
                text.utf8.count <= PeopleConfiguration.maximumTextBytes
            else { return nil }
        }
        guard isOpen || text != nil else { return nil }
        self.isOpen = isOpen
        self.text = text
    }

    private init() {}

    /// The text that replaces `people.text` while no person is available; nil while the business is open.
    var closedText: String? { isOpen ? nil : text }
}

/// The presence of the people of each business, stored in the file `DATA/people.json`.
///
/// `{"format":1,"businesses":{"5a6b…":{"open":false,"text":"Back at 9."}}}`; a business that the file omits
/// is open.
package final class PeoplePresence: Sendable {
    private let file: String
    private let state: Mutex<[BusinessID: Presence]>
    private let queue = DispatchQueue(label: "balloon.people")

    /// The maximum number of businesses in the file.
    private static let maximumCount = 100_000

    /// Reads the file of a data directory; when the file is missing, every business is open.
    ///
    /// When the file is unreadable, an error is logged and every business is open too. A customer may then
    /// wait in vain for a person, but no customer is wrongly told that no person is available.
    package init(dataDirectory: String, logger: Logger) {
        file = dataDirectory + "/people.json"
        state = Mutex([:])
        do throws(SystemError) {
            guard try Directory.holds(file) else { return }
            let bytes = try File(file, for: .reading).readAll()
            guard let known = Self.read(bytes) else {
                logger.error(
                    "file people.json is damaged; the people of every business count as available",
                    metadata: ["file": "\(file)"])
                return
            }
            state.withLock { $0 = known }
        } catch {
            logger.error(
                "file people.json cannot be read; the people of every business count as available",
                metadata: ["file": "\(file)", "error": "\(error)"])
        }
    }

    /// The presence of a business's people.
    package subscript(business: BusinessID) -> Presence { state.withLock { $0[business] } ?? .open }

    /// Changes the presence of a business's people; durable when it returns.
    package func change(_ business: BusinessID, to presence: Presence) async throws(SystemError) {
        try await queue.run { [self] () throws(SystemError) in
            var all = state.withLock { $0 }
            all[business] = presence == .open ? nil : presence
            try AtomicFile.write(Self.json(all) + [UInt8(ascii: "\n")], to: file)
            state.withLock { [all] in $0[business] = all[business] }
        }
    }

    private static func json(_ all: [BusinessID: Presence]) -> [UInt8] {
        JSONWriter.object { writer in
            writer.field("format", 1)
            writer.object("businesses") { writer in
                for (business, presence) in all.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                    writer.object(business.rawValue) { presence.write(to: &$0) }
                }
            }
        }
    }

    private static func read(_ bytes: [UInt8]) -> [BusinessID: Presence]? {
        guard let root = (try? JSONDocument(bytes))?.root, root["format"]?.int == 1,
            let members = root["businesses"], members.kind == .object, members.count <= maximumCount
        else { return nil }
        var all: [BusinessID: Presence] = [:]
        for (business, value) in members.members {
            guard let presence = Presence(value) else { return nil }
            all[BusinessID(business)] = presence
        }
        return all
    }
}

extension Presence {
    /// Reads an object such as `{"open": false, "text": "Back at 9."}`; nil when a member is missing or invalid.
    package init?(_ json: JSONValue) {
        guard let isOpen = json["open"]?.bool else { return nil }
        let text = json["text"]
        if let text, text.string == nil, !text.isNull { return nil }
        self.init(isOpen: isOpen, text: text?.string)
    }

    /// Writes the members `open` and `text`.
    package func write(to writer: inout JSONWriter) {
        writer.field("open", isOpen)
        writer.field("text", text)
    }
}
