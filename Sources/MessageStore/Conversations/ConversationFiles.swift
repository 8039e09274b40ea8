package import BalloonPOSIX
package import BusinessMessages

/// Read-only access to the conversations of a data directory; needs no lock, and works while a server runs.
package struct ConversationFiles: Sendable {
    let directory: String
    let damaged: String

    /// One conversation of the list.
    package struct Summary: Sendable {
        /// The business.
        package let business: BusinessID
        /// The customer.
        package let customer: CustomerID
        /// The number of the last line, which also counts the oldest lines that were removed.
        package let lines: Int
        /// The time of the last line.
        package let lastAt: Timestamp
    }

    /// Uses the data directory at this path.
    package init(dataDirectory: String) {
        let data = DataDirectory(path: dataDirectory)
        directory = data.conversations
        damaged = data.damaged
    }

    /// Returns the paths of the quarantined conversations' files; ``list()`` omits these conversations.
    package func quarantined() throws -> [String] {
        try ConversationQuarantine.paths(in: damaged).sorted().map { damaged + "/" + $0 }
    }

    /// Returns every conversation, sorted by business and customer; reads only the end of each file.
    ///
    /// Throws a ``StoreError``. A file without a complete line is omitted.
    package func list() throws -> [Summary] {
        var summaries: [Summary] = []
        for path in try DataFiles().conversationPaths(in: directory) {
            let business = String(path.prefix { $0 != "/" })
            if let summary = try summary(directory + "/" + path, folder: business) {
                summaries.append(summary)
            }
        }
        return summaries.sorted {
            ($0.business.rawValue, $0.customer.rawValue) < ($1.business.rawValue, $1.customer.rawValue)
        }
    }

    /// Returns the businesses that have a conversation; reads at most one file of each business.
    package func businesses() throws -> [BusinessID] {
        let files = DataFiles()
        return try files.names(in: directory).compactMap { folder in
            // When the folder's name is a hash, only the messages in it contain the business's id.
            guard folder.hasPrefix("x-") else { return BusinessID(folder) }
            for inner in try files.names(in: directory + "/" + folder) {
                let path = directory + "/" + folder + "/" + inner
                for name in try files.names(in: path) where name.hasSuffix(".jsonl") {
                    if let summary = try summary(path + "/" + name, folder: folder) {
                        return summary.business
                    }
                }
            }
            return nil
        }
    }

    /// The conversations of a customer, one for each business; reads only this customer's files.
    ///
    /// Throws a ``StoreError``, including ``StoreError/quarantinedConversation(file:)``.
    package func summaries(of customer: CustomerID) throws -> [Summary] {
        let name = ConversationPath.file(of: customer)
        return try DataFiles().names(in: directory).compactMap { business in
            try path(business + "/" + name).flatMap { try summary($0, folder: business) }
        }
    }

    /// Returns every line of a conversation, oldest first; none when the conversation does not exist.
    ///
    /// An unfinished last line is omitted. Throws ``StoreError/damaged(file:line:)`` for an invalid line and
    /// for a gap in the numbers, and ``StoreError/quarantinedConversation(file:)``.
    package func lines(of business: BusinessID, _ customer: CustomerID) throws -> [ConversationLine] {
        let name = ConversationPath.file(ConversationKey(business: business, customer: customer))
        guard let path = try path(name) else { return [] }
        let texts = try tail(path, maximum: .max)
        let header: ConversationHeader = try StoreError.naming(path) { () throws(SystemError) in
            try ConversationHeader(of: File(path, for: .reading))
        }
        return ConversationLine.merging(
            try parse(texts, lastSequence: header.from + texts.count - 1, path: path))
    }

    private func summary(_ path: String, folder: String) throws -> Summary? {
        guard let text = try tail(path, maximum: 1).last else { return nil }
        guard let line = ConversationLine(text) else { throw StoreError.damaged(file: path, line: 0) }
        // When the folder's name is a hash, only the messages in it contain the business's id.
        let named = line.message[line.direction == .inbound ? "destinationId" : "sourceId"]?.string
        return Summary(
            business: BusinessID(folder.hasPrefix("x-") ? named ?? folder : folder), customer: line.customer,
            lines: line.sequence, lastAt: line.at)
    }

    private func tail(_ path: String, maximum: Int) throws -> [[UInt8]] {
        let (lines, isSound) = try StoreError.naming(path) { () throws(SystemError) in
            let file = try File(path, for: .reading)
            let (lines, completeBytes) = try ConversationTail.lines(of: file, maximum: maximum)
            return (lines, try ConversationTail.isSound(file, behind: completeBytes))
        }
        guard isSound else { throw StoreError.damaged(file: path, line: 0) }
        return lines
    }

    /// Returns the path of a conversation's file, whose path below the folder of all conversations is `name`.
    ///
    /// Nil without such a file. Throws ``StoreError/quarantinedConversation(file:)``.
    func path(_ name: String) throws -> String? {
        let files = DataFiles()
        if try files.holds(damaged + "/" + name) {
            throw StoreError.quarantinedConversation(file: damaged + "/" + name)
        }
        return try files.holds(directory + "/" + name) ? directory + "/" + name : nil
    }
}
