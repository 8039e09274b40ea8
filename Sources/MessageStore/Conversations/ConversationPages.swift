import BalloonPOSIX
package import BusinessMessages

/// Reads pages of one conversation, which the caller names by its file; each read has a bounded size.
extension ConversationFiles {
    /// The place of a page.
    package enum PagePlace: Hashable, Sendable {
        /// The last lines.
        case latest
        /// The last lines before the line with this number.
        case before(Int)
        /// The first lines after the line with this number.
        case after(Int)
    }

    /// Consecutive lines of a conversation's file, oldest first.
    package struct Page: Sendable {
        /// The lines as the file has them, without line feeds.
        package let lines: [[UInt8]]
        /// The number of the first line; 0 when there are no lines.
        package let first: Int
        /// The number of the last line; 0 when there are no lines.
        package let last: Int
        /// The number of the file's first line: 1, unless older lines were removed.
        package let from: Int
        /// Whether the file has later lines.
        package let hasLater: Bool
        /// Whether the file has earlier lines.
        package var hasEarlier: Bool { first > from }
    }

    /// A message of a conversation with the results of its attachments.
    package struct FoundMessage: Sendable {
        /// The line as the file has it.
        package let text: [UInt8]
        /// The parsed line.
        package let line: ConversationLine
        /// The results of its attachments, in order.
        package let files: [RecordedFile]
    }

    /// Returns a page of a conversation; nil when the conversation does not exist.
    ///
    /// `name` is that of the conversation's file without the extension. The page has at most `maximum` lines
    /// with `maximumBytes` in total, but at least one line. A binary search finds a line by its number, so an
    /// old page costs as much as a new one. Throws ``StoreError/damaged(file:line:)`` and
    /// ``StoreError/quarantinedConversation(file:)``.
    package func page(
        of business: BusinessID, named name: String, _ place: PagePlace, maximum: Int, maximumBytes: Int
    ) throws -> Page? {
        let file = "\(ConversationPath.business(business))/\(name.prefix(2))/\(name).jsonl"
        // The name comes from a request, so accept only a hash: it cannot name a file outside the folder.
        guard ConversationName(path: file) != nil, let path = try path(file) else { return nil }
        let numbers = try LineNumbers(path)
        switch place {
        case .latest:
            return try numbers.page(endingAt: numbers.endBytes, maximum, maximumBytes)
        case .before(let number):
            return try numbers.page(endingAt: numbers.offset(ofFirstFrom: number), maximum, maximumBytes)
        case .after(let number):
            let start = try numbers.offset(ofFirstFrom: number == .max ? number : number + 1)
            return try numbers.page(startingAt: start, maximum, maximumBytes)
        }
    }

    /// The latest message with this id; nil when the conversation has none.
    ///
    /// Reads the file from its end, in pages of at most 1 MiB. Throws ``UnfinishedSearch`` when the message is not in the last
    /// 64 MiB, or not found within 250 ms.
    package func message(
        _ id: MessageID, of business: BusinessID, named name: String
    ) throws -> FoundMessage? {
        let began = ContinuousClock.now
        // The id as the line contains it: in quotes and with escapes.
        var writer = JSONWriter()
        writer.string(id.rawValue)
        let written = writer.bytes
        var readBytes = 0
        var files: [UInt64: [RecordedFile]] = [:]
        var place = PagePlace.latest
        while let page = try page(of: business, named: name, place, maximum: 200, maximumBytes: 1 << 20) {
            for text in page.lines.reversed() {
                readBytes += text.count + 1
                guard text[...].firstPosition(of: written) != nil else { continue }
                guard let line = ConversationLine(text) else { throw StoreError.damaged(file: name, line: 0) }
                guard line.id == id else { continue }
                guard line.isFilesOnly else {
                    let found = line.files.isEmpty ? files[line.record] ?? [] : line.files
                    return FoundMessage(text: text, line: line, files: found)
                }
                // The line with the results of attachments follows its message, so this search meets the
                // results first.
                if files[line.record] == nil { files[line.record] = line.files }
            }
            guard page.hasEarlier else { return nil }
            if readBytes >= Self.maximumSearchedBytes { throw UnfinishedSearch.tooManyLines }
            if ContinuousClock.now - began >= .milliseconds(250) { throw UnfinishedSearch.tooSlow }
            place = .before(page.first)
        }
        return nil
    }

    private static let maximumSearchedBytes = 64 << 20

    /// The reason why a search for a message ended before the beginning of the conversation.
    package enum UnfinishedSearch: Error {
        /// The message is not among the last lines; the caller can read it by its line number.
        case tooManyLines
        /// The disk was too slow; a repeated search finds more of the file in the system's page cache.
        case tooSlow
    }

    /// Returns the name of a customer's file without its extension, which is the same in every business.
    package static func name(of customer: CustomerID) -> String {
        ConversationPath.name(of: customer)
    }
}
