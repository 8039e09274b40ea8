import BalloonPOSIX
import BusinessMessages

extension Store {
    /// A conversation with a line that contains the wanted text.
    package struct FoundConversation: Sendable {
        /// The conversation.
        package let conversation: ListedConversation
        /// The latest such line.
        package let line: ConversationLine
    }

    /// A part of the results of a search, latest conversation first.
    package struct SearchPage: Sendable {
        /// The conversations that contain the text.
        package let found: [FoundConversation]
        /// The number of conversations that were read.
        package let searched: Int
        /// The position before which the search continues; nil at the end.
        package let next: ConversationPosition?
    }

    /// Searches the conversations of a list for text, latest first; blocks.
    ///
    /// Reads for at most 250 ms or 64 MiB, and of each conversation the last 16 MiB. A conversation that cannot be read has no
    /// results. Nil until the index is ``IndexPhase/ready``.
    package func search(_ query: ConversationQuery, for text: String) -> SearchPage? {
        var query = query
        let limit = query.limit
        query.limit = 200
        let search = TextSearch(text)
        let folder = ConversationPath.business(query.business)
        let began = ContinuousClock.now
        var (found, searched, readBytes) = ([FoundConversation](), 0, 0)
        while true {
            guard let page = conversations(query) else { return nil }
            for conversation in page.conversations {
                let isOver = readBytes >= 64 << 20 || ContinuousClock.now - began >= .milliseconds(250)
                if found.count == limit || (isOver && searched > 0) {
                    return SearchPage(found: found, searched: searched, next: query.position)
                }
                let path =
                    DataDirectory(path: directory).conversations + "/"
                    + ConversationName(conversation.digest, in: folder).path
                if let line = search.latestMatch(in: path, &readBytes) {
                    found.append(FoundConversation(conversation: conversation, line: line))
                }
                searched += 1
                query.position = conversation.position
            }
            guard let next = page.next else { return SearchPage(found: found, searched: searched, next: nil) }
            query.position = next
        }
    }
}

extension TextSearch {
    private static let stepBytes = 1 << 20
    private static let maximumFileBytes = 16 << 20

    /// The latest line of a file that contains the text; adds the bytes that were read.
    fileprivate func latestMatch(in path: String, _ readBytes: inout Int) -> ConversationLine? {
        do throws(SystemError) {
            let file = try File(path, for: .reading)
            var end = try file.sizeBytes()
            let first = max(0, end - Self.maximumFileBytes)
            while end > first {
                let (lines, completeBytes) = try ConversationTail.lines(
                    of: file, endingAt: end, maximum: .max, maximumBytes: Self.stepBytes)
                let bytes = lines.reduce(0) { $0 + $1.count + 1 }
                if bytes == 0 { return nil }
                readBytes += bytes
                for line in lines.reversed() { if let match = match(line) { return match } }
                end = completeBytes - bytes
            }
        } catch {
            // The conversation was quarantined or cannot be read; verification reports it.
            return nil
        }
        return nil
    }
}
