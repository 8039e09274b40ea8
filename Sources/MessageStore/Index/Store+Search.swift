import BalloonPOSIX
import BusinessMessages

extension Store {
    /// A conversation with a line that contains the wanted text.
    package struct FoundConversation: Sendable {
        /// The conversation.
        package let conversation: ListedConversation
        /// The latest line that contains the text.
        package let line: ConversationLine
    }

    /// A part of the results of a search, latest conversation first.
    package struct SearchPage: Sendable {
        /// The conversations that contain the text.
        package let found: [FoundConversation]
        /// The number of conversations that were read.
        package let searched: Int
        /// The number of conversations that could be searched only in part or not at all.
        package let unreadable: Int
        /// The position before which the search continues; nil at the end.
        package let next: ConversationPosition?
    }

    /// Searches the conversations of a list for text, latest first; blocks while it reads.
    ///
    /// Reads for at most 250 ms or 64 MiB, and of each conversation only the last 16 MiB. The first
    /// conversation alone may take 250 ms more. Nil until the index is ready. Throws
    /// ``StoreError/unavailable(path:_:)`` for an error that does not concern a single file.
    package func search(_ query: ConversationQuery, for text: String) throws(StoreError) -> SearchPage? {
        var query = query
        let limit = query.limit
        query.limit = 200
        let search = TextSearch(text)
        let folder = ConversationPath.business(query.business)
        var budget = ReadBudget()
        var (found, searched, unreadable) = ([FoundConversation](), 0, 0)
        while true {
            guard let page = conversations(query) else { return nil }
            let isLast = page.next == nil
            if searched == 0 { unreadable = page.unreadable }
            for conversation in page.conversations {
                if found.count == limit || (budget.isOver && searched > 0) {
                    return SearchPage(
                        found: found, searched: searched, unreadable: unreadable, next: query.position)
                }
                // Restart the time for the first conversation, so that each request can search at least one.
                if searched == 0 { budget.deadline = .now + ReadBudget.time }
                let name = ConversationName(conversation.digest, in: folder)
                switch try search.latestMatch(in: name, of: DataDirectory(path: directory), &budget) {
                case .found(let line):
                    found.append(FoundConversation(conversation: conversation, line: line))
                case .nothing: break
                case .unreadable: unreadable += 1
                case .interrupted:
                    // The next page begins with this conversation. If it is the page's first, it is skipped,
                    // so that each page makes progress.
                    if searched > 0 {
                        return SearchPage(
                            found: found, searched: searched, unreadable: unreadable, next: query.position)
                    }
                    unreadable += 1
                }
                searched += 1
                query.position = conversation.position
            }
            if let next = page.next { query.position = next }
            if isLast || budget.isOver {
                return SearchPage(
                    found: found, searched: searched, unreadable: unreadable,
                    next: isLast ? nil : query.position)
            }
        }
    }
}

extension TextSearch {
    private static let stepBytes = 1 << 20
    private static let maximumFileBytes = 16 << 20
    /// The bytes of lines that are searched before the time is checked again.
    private static let bytesBetweenLooks = 64 << 10

    /// The result of the search in one conversation.
    fileprivate enum Search {
        case found(ConversationLine)
        case nothing
        case unreadable
        /// The time was used up before the conversation was searched completely.
        case interrupted
    }

    /// Searches a conversation for the latest line that contains the text; adds the bytes read to `budget`.
    fileprivate func latestMatch(
        in name: ConversationName, of data: DataDirectory, _ budget: inout ReadBudget
    ) throws(StoreError) -> Search {
        let path = data.conversations + "/" + name.path
        do throws(SystemError) {
            let file = try File(path, for: .reading)
            var end = try file.sizeBytes()
            let first = max(0, end - Self.maximumFileBytes)
            var unseen = 0
            while end > first {
                let (lines, completeBytes) = try ConversationTail.lines(
                    of: file, endingAt: end, maximum: .max, maximumBytes: Self.stepBytes)
                let bytes = lines.reduce(0) { $0 + $1.count + 1 }
                if bytes == 0 { return .nothing }
                budget.readBytes += bytes
                for line in lines.reversed() {
                    do throws(Interrupted) {
                        if let match = try match(line, isLate: { budget.isLate }) { return .found(match) }
                    } catch {
                        return .interrupted
                    }
                    unseen += line.count
                    if unseen >= Self.bytesBetweenLooks {
                        if budget.isLate { return .interrupted }
                        unseen = 0
                    }
                }
                end = completeBytes - bytes
            }
            return .nothing
        } catch {
            if error.isMissing {
                // The index has an entry without a file: the conversation was quarantined, or removed a
                // moment ago.
                return Directory.exists(data.damaged + "/" + name.path) ? .unreadable : .nothing
            }
            let error = StoreError.unavailable(path: path, error)
            guard error.isOfOneFile else { throw error }
            return .unreadable
        }
    }
}
