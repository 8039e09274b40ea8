import BalloonPOSIX
import BusinessMessages

extension Store {
    /// Searches the conversations of a list for text, a tag or both, latest first; blocks while it reads.
    ///
    /// The text is searched in the lines, and in the customer's name and tags.
    ///
    /// Reads for at most 250 ms or 64 MiB, and of each conversation only the last 16 MiB. The first
    /// conversation alone may take 250 ms more. Nil until the index is ready. Throws
    /// ``StoreError/unavailable(path:_:)`` for an error that does not concern a single file.
    package func search(
        _ query: ConversationQuery, for text: String?, tag: String? = nil
    ) throws(StoreError) -> ConversationPage? {
        var query = query
        let limit = query.limit
        query.limit = 200
        let search = text.map { TextSearch($0) }
        let folder = ConversationPath.business(query.business)
        var budget = ReadBudget()
        var (found, searched, unreadable) = ([IndexEntry](), 0, 0)
        func result(isLast: Bool = false) -> ConversationPage {
            ConversationPage(
                conversations: found, next: isLast ? nil : query.position, unreadable: unreadable,
                searched: searched)
        }
        while true {
            guard let page = conversations(query) else { return nil }
            if searched == 0 { unreadable = page.unreadable }
            for conversation in page.conversations {
                if found.count == limit || (budget.isOver && searched > 0) { return result() }
                // Restart the time for the first conversation, so that each request can search at least one.
                if searched == 0 { budget.deadline = .now + ReadBudget.time }
                let name = ConversationName(conversation.digest, in: folder)
                switch try match(search, tag: tag, in: name, &budget) {
                case .found: found.append(conversation)
                case .nothing: break
                // The next page begins with this conversation. If it is the page's first, it is skipped, so that
                // each page makes progress.
                case .interrupted where searched > 0: return result()
                case .unreadable, .interrupted: unreadable += 1
                }
                searched += 1
                query.position = conversation.position
            }
            if let next = page.next { query.position = next }
            if page.next == nil || budget.isOver { return result(isLast: page.next == nil) }
        }
    }

    private func match(
        _ search: TextSearch?, tag: String?, in name: ConversationName, _ budget: inout ReadBudget
    ) throws(StoreError) -> TextSearch.Search {
        let customer: CustomerDetails
        do { customer = try states.customer(of: name) } catch {
            guard case .damaged = error else { throw error }
            return .unreadable
        }
        budget.readBytes += 1024
        if let tag, !customer.tags.contains(tag) { return .nothing }
        guard let search, !customer.contains(search.wanted) else { return .found }
        return try search.match(in: name, of: DataDirectory(path: directory), &budget)
    }
}

extension TextSearch {
    private static let stepBytes = 1 << 20
    private static let maximumFileBytes = 16 << 20
    /// The bytes of lines that are searched before the time is checked again.
    private static let bytesBetweenLooks = 64 << 10

    /// The result of the search in one conversation.
    fileprivate enum Search {
        case found
        case nothing
        case unreadable
        /// The time was used up before the conversation was searched completely.
        case interrupted
    }

    /// Searches a conversation, latest lines first, for one that contains the text; adds the bytes read to `budget`.
    fileprivate func match(
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
                        if try match(line, isLate: { budget.isLate }) != nil { return .found }
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
