import BalloonPOSIX
import BusinessMessages
import Dispatch
import Logging
import MessageStore
import Synchronization

/// Writes the figures of ended conversations and of hand-offs, in `DATA/figures/SLUG/YYYY-MM-DD.jsonl`.
///
/// A conversation has ended when its file has had no new line for a day. The lines are found by the index of
/// conversations, in the order of their last lines; the search continues after the time of the last written line,
/// so that a restart counts no conversation twice. An erasure changes no figure.
struct FiguresRecorder: Sendable {
    let store: Store
    let configuration: CurrentConfiguration
    let people: PeopleSettings
    let logger: Logger
    private let conversations: ConversationFiles
    private let queue = DispatchQueue(label: "balloon.figures")
    private let progress = Progress()

    /// The time without a new line after which a conversation has ended: a day.
    ///
    /// The minute more includes the line of a conversation that returns to its handler after a day without a person.
    static let idleTime = Duration.seconds(24 * 3600 + 60)
    /// The days for which figures are kept.
    static let keptDays = 730
    private static let pause = Duration.seconds(300)
    /// The lines of a conversation that are read; longer conversations count from there on.
    private static let lines = (maximum: 1000, bytes: 4 << 20)

    /// How far each business is recorded, and the hand-offs of this process.
    private final class Progress: Sendable {
        struct State {
            var ends: [String: Timestamp] = [:]
            private var handOffs: Set<UInt64> = []

            /// Remembers a hand-off; false when it is known.
            ///
            /// A report counts a repeated one once.
            mutating func insert(handOff: UInt64) -> Bool {
                if handOffs.count > 100_000 { handOffs = [] }
                return handOffs.insert(handOff).inserted
            }
        }
        let state = Mutex(State())
    }

    init(
        _ store: Store, _ configuration: CurrentConfiguration, _ people: PeopleSettings, logger: Logger
    ) {
        self.store = store
        self.configuration = configuration
        self.people = people
        self.logger = logger
        conversations = ConversationFiles(dataDirectory: configuration.dataDirectory)
    }

    private var files: DayFiles {
        DayFiles(directory: configuration.dataDirectory + "/figures", prefix: FiguresReport.prefix)
    }

    /// Starts a task that records until it is cancelled, on a thread of its own, because it reads and writes files.
    func begin() -> Task<Void, Never> {
        Task(executorPreference: BlockingTaskExecutor()) {
            // The stop of the server cancels the sleep.
            while (try? await Task.sleep(for: Self.pause)) != nil {
                recordEnded(at: SteadyClock.forExpiry())
            }
        }
    }

    /// Records the conversations that have ended, and removes old files; a business whose file fails is tried again.
    func recordEnded(at now: Timestamp) {
        for business in configuration.businesses {
            do {
                try recordEnded(of: business, at: now)
                try files.sweep(business.slug, keeping: Self.keptDays, at: now)
            } catch {
                logger.warning(
                    "figures cannot be written; they are written later",
                    metadata: ["business": "\(business.slug)", "error": "\(error)"])
            }
        }
    }

    private func recordEnded(of business: BusinessConfiguration, at now: Timestamp) throws {
        let limit = now.advanced(by: .zero - Self.idleTime)
        var begin = try end(business.slug, before: limit)
        // One hour after the other, so that the list is short after a long time without the server.
        while begin < limit {
            let end = min(limit, begin.advanced(by: .seconds(3600)))
            // Without the index of conversations there are no figures.
            guard let ended = ended(of: business.businessID, in: begin..<end) else { return }
            for entry in ended.reversed() { try record(entry, of: business, before: limit) }
            progress.state.withLock { $0.ends[business.slug] = end }
            begin = end
        }
    }

    /// The conversations whose last line is in a range of time, the latest first; nil until the index is ready.
    private func ended(of business: BusinessID, in time: Range<Timestamp>) -> [IndexEntry]? {
        var query = Store.ConversationQuery(of: business)
        query.limit = 200
        (query.since, query.until) = (time.lowerBound, time.upperBound)
        var ended: [IndexEntry] = []
        repeat {
            guard let page = store.conversations(query) else { return nil }
            ended += page.conversations
            query.position = page.next
        } while query.position != nil
        return ended
    }

    private func record(
        _ entry: IndexEntry, of business: BusinessConfiguration, before limit: Timestamp
    ) throws {
        let page: ConversationFiles.Page?
        do {
            page = try conversations.page(
                of: business.businessID, named: entry.digest.hexadecimal, .latest,
                maximum: Self.lines.maximum, maximumBytes: Self.lines.bytes)
        } catch StoreError.quarantinedConversation {
            return
        }
        // The customer may have written since the index was read: that is the next conversation.
        let lines = Self.last(
            (page?.lines.compactMap { ConversationLine($0) } ?? []).filter { $0.at < limit })
        guard let last = lines.last else { return }
        let queue =
            lines.last { $0.kindName == "assignment" && $0.message["queue"] != nil }?.message["queue"]?
            .string
            ?? store.assignment(of: business.businessID, last.customer).placement?.queue
        let all = ConversationFigures.all(
            lines, of: business.businessID, queue: queue, openingTime(business.businessID, queue))
        for one in all { try files.append(one.json, at: one.at, business.slug) }
        progress.state.withLock { $0.ends[business.slug] = last.at.advanced(by: .milliseconds(1)) }
    }

    private func openingTime(_ business: BusinessID, _ queue: String?) -> OpeningTime {
        let people = people[business]
        return people?.openingTime(of: people?.queue(queue)) ?? OpeningTime(hours: nil, closings: [])
    }

    /// The time from which conversations are not recorded: after the last figure, or a day before the limit without one.
    private func end(_ slug: String, before limit: Timestamp) throws -> Timestamp {
        if let known = progress.state.withLock({ $0.ends[slug] }) { return known }
        for path in try files.paths(slug, since: Timestamp(milliseconds: 0)).sorted().reversed() {
            var found: Timestamp?
            try FiguresReport.forEachLine(of: path) { line in
                // A damaged line is no figure.
                guard let root = (try? JSONDocument(Array(line)))?.root,
                    root["type"]?.equals("conversation") == true
                else { return }
                found = root["at"]?.string.flatMap { Timestamp(rfc3339: $0) } ?? found
            }
            if let found { return found.advanced(by: .milliseconds(1)) }
        }
        return limit.advanced(by: .zero - Self.idleTime)
    }

    /// The lines of the last conversation: those after the last pause of ``idleTime``.
    private static func last(_ lines: [ConversationLine]) -> [ConversationLine] {
        let begin = lines.indices.dropFirst().last { index in
            lines[index - 1].at.advanced(by: idleTime) < lines[index].at
        }
        return Array(lines[(begin ?? 0)...])
    }

    /// Records a hand-off when its conversation is first seen waiting in its queue.
    func record(_ assignment: Assignment, of business: BusinessID) {
        guard assignment.state == .waiting, let began = assignment.began?.record,
            let known = configuration[business],
            known.people?.queues.isEmpty ?? true || assignment.placement?.rule != nil,
            progress.state.withLock({ $0.insert(handOff: began) })
        else { return }
        let line = ConversationFigures.handOff(
            assignment, began: began, openingTime(business, assignment.placement?.queue))
        queue.async { [files, logger] in
            do { try files.append(line, at: assignment.since ?? .now(), known.slug) } catch {
                logger.warning(
                    "the figure of a hand-off is lost",
                    metadata: ["business": "\(known.slug)", "error": "\(error)"])
            }
        }
    }
}
