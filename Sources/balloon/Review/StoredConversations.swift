import BalloonPOSIX
import BusinessMessages
import MessageServer
import MessageStore
import Review

/// The latest conversations of a business as transcripts.
struct StoredConversations {
    private let files: ConversationFiles
    private let business: BusinessConfiguration

    /// The number of conversations that are judged, the latest ones.
    private static let maximumCount = 500

    /// Reads the data directory that a configuration names.
    init(config: String, _ business: BusinessConfiguration) throws {
        files = ConversationFiles(dataDirectory: try DataOptions.directory(nil, config: config))
        self.business = business
    }

    /// Days since the last message; nil without a message.
    func idleDays() throws -> Int? {
        let last = try files.list().filter { $0.business == business.businessID }.map(\.lastAt).max()
        return last.map { Int(max(0, Timestamp.now().milliseconds - $0.milliseconds) / 86_400_000) }
    }

    func transcripts() throws -> [Transcript] {
        let summaries = try files.list().filter { $0.business == business.businessID }
            .sorted { $1.lastAt < $0.lastAt }
        return try summaries.prefix(Self.maximumCount).map { summary in
            Self.transcript(of: summary.customer, try files.lines(of: summary.business, summary.customer))
        }
    }

    private static func transcript(of customer: CustomerID, _ lines: [ConversationLine]) -> Transcript {
        let messages = lines.filter { !$0.isFilesOnly }
        let locale = messages.first { $0.direction == .inbound }?.message["locale"]?.string
        var transcript = Transcript(
            Scene(
                .stored, "conversation \(ConversationFiles.name(of: customer).prefix(12))", locale: locale, []
            ))
        let began = messages.first?.at.milliseconds ?? 0
        for line in messages {
            let time = Double(line.at.milliseconds - began) / 1000
            if line.direction == .inbound {
                let text = line.message["body"]?.string ?? "[\(line.kind)]"
                transcript.turns.append(Turn(.customer, text, at: time))
                continue
            }
            guard line.outcome == "accepted" else { continue }
            if transcript.turns.isEmpty {
                transcript.turns.append(Turn(.event, "an earlier message", at: time))
            }
            let isPerson = line.author?.isPerson ?? false
            transcript.turns[transcript.turns.count - 1].lines.append(
                Line(
                    isPerson ? .person : line.author == .server ? .server : .handler,
                    person: line.author?.person?.name ?? line.author?.person?.id, at: time, kind: line.kind,
                    isAutomatic: !isPerson, message: line.message))
        }
        return transcript
    }
}
