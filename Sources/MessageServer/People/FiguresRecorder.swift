import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import Dispatch
import Logging
import MessageStore
import Synchronization

/// Writes the figures of ended conversations and of hand-offs, in `DATA/figures/SLUG/YYYY-MM-DD.jsonl`.
///
/// A conversation has ended when neither side has written for the business's `newAfterHours`. All conversations are read of
/// which the index has a line since the last written end, and figures are written in the order of their ends, so that a
/// restart continues there and counts no conversation twice. An erasure changes no figure.
struct FiguresRecorder: Sendable {
    let store: Store
    let configuration: CurrentConfiguration
    let people: PeopleSettings
    let logger: Logger
    private let conversations: ConversationFiles
    private let queue = DispatchQueue(label: "balloon.figures")
    private let progress = Progress()

    /// The time until the last message of a conversation has its line.
    private static let margin = Duration.seconds(60)
    private static let day = Duration.seconds(86_400)
    /// The days for which figures are kept.
    static let keptDays = 730
    private static let pause = Duration.seconds(300)
    /// The lines of a conversation that are read; longer conversations count from there on.
    private static let lines = (maximum: 1000, bytes: 4 << 20)

    /// How far each business is recorded, and the hand-offs of this process.
    final class Progress: Sendable {
        struct State {
            var ends: [String: Timestamp] = [:]
            /// The conversations that were read, with the earliest time at which they may end again.
            var read: [String: [ConversationDigest: Timestamp]] = [:]
            /// The maximum number of hand-offs in memory, of each kind.
            static let maximum = 100_000
            /// The hand-offs whose queue is not yet chosen.
            private var undecided: [UInt64: Assignment] = [:]
            private var handOffs: Set<UInt64> = []
            /// The last hand-off that ``handOffs`` had and forgot; none up to it is recorded unless it is undecided.
            private var forgotten: UInt64 = 0
            /// The hand-offs in files that have some of earlier processes.
            var written: [String: Set<UInt64>] = [:]

            /// The hand-off to record after a change of its conversation, once; nil when there is none.
            ///
            /// A claim or a close may be earlier than the choice of the queue.
            mutating func handOff(
                _ began: UInt64, in assignment: Assignment, isQueueChosen: Bool
            ) -> Assignment? {
                // A person who releases the conversation to another one begins a further wait.
                guard assignment.state == .waiting, assignment.stateRecord == began else {
                    return undecided.removeValue(forKey: began).flatMap { insert(began) ? $0 : nil }
                }
                let isNew = undecided[began] != nil || began > forgotten && !handOffs.contains(began)
                if !isQueueChosen {
                    if undecided[began] == nil, undecided.count >= Self.maximum {
                        let oldest = undecided.keys.sorted().prefix(Self.maximum / 2)
                        for record in oldest { undecided[record] = nil }
                    }
                    if isNew { undecided[began] = assignment }
                    return nil
                }
                undecided[began] = nil
                return isNew && insert(began) ? assignment : nil
            }

            private mutating func insert(_ began: UInt64) -> Bool {
                // The oldest are forgotten, and a later look at one that still waits does not count it again.
                if handOffs.count >= Self.maximum {
                    let oldest = handOffs.sorted().prefix(Self.maximum / 2)
                    handOffs.subtract(oldest)
                    forgotten = max(forgotten, oldest.last ?? 0)
                }
                return handOffs.insert(began).inserted
            }
        }
        let state = Mutex(State())
        let startedAt = Timestamp.now()
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
        let slug = business.slug
        let limit = now.advanced(by: .zero - business.silence - Self.margin)
        var begin = try end(slug, before: limit)
        // One day after the other, so that few figures are in memory after a long time without the server.
        while begin < limit {
            let end = min(limit, begin.advanced(by: Self.day))
            let known = progress.state.withLock { $0.read[slug] ?? [:] }
            // Without the index of conversations there are no figures.
            guard var names = conversations(of: business.businessID, since: begin) else { return }
            // One that got a line while the index was read may not be in its list.
            names.formUnion(known.keys)
            var read: [ConversationDigest: Timestamp] = [:]
            var ended: [ConversationFigures] = []
            for name in names {
                if let time = known[name], time >= end {
                    read[name] = time
                    continue
                }
                let (last, all) = try figures(of: name, business)
                ended += all.filter { $0.at >= begin && $0.at < end }
                read[name] = (all.map(\.at) + (last.map { [$0] } ?? [])).filter { $0 >= end }.min()
            }
            for one in ended.sorted(by: { $0.at < $1.at }) {
                try files.append(one.json, at: one.at, slug)
                progress.state.withLock { $0.ends[slug] = one.at.advanced(by: .milliseconds(1)) }
            }
            progress.state.withLock { ($0.ends[slug], $0.read[slug]) = (end, read) }
            begin = end
        }
    }

    /// The conversations with a line since a time; nil until the index is ready.
    private func conversations(of business: BusinessID, since: Timestamp) -> Set<ConversationDigest>? {
        var query = Store.ConversationQuery(of: business)
        (query.limit, query.since) = (200, since)
        var names: Set<ConversationDigest> = []
        repeat {
            guard let page = store.conversations(query) else { return nil }
            names.formUnion(page.conversations.map(\.digest))
            query.position = page.next
        } while query.position != nil
        return names
    }

    /// The time of the last line in a conversation's file, and the figures of all conversations in it.
    private func figures(
        of name: ConversationDigest, _ business: BusinessConfiguration
    ) throws -> (last: Timestamp?, [ConversationFigures]) {
        let page: ConversationFiles.Page?
        do {
            page = try conversations.page(
                of: business.businessID, named: name.hexadecimal, .latest, maximum: Self.lines.maximum,
                maximumBytes: Self.lines.bytes)
        } catch StoreError.quarantinedConversation {
            return (nil, [])
        }
        let lines = page?.lines.compactMap { ConversationLine($0) } ?? []
        let all = ConversationFigures.all(lines, of: business.businessID, after: business.silence) { queue in
            openingTime(business.businessID, queue)
        }
        return (lines.last?.at, all)
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
        return limit.advanced(by: .zero - Self.day)
    }

    /// Records a hand-off when its queue is chosen, or when a person or a close ends the wait before.
    ///
    /// The store's follower calls this for each change, and the watch for each waiting conversation, in case the process ended
    /// before the line was written. Never blocks.
    func record(_ assignment: Assignment, of business: BusinessID) {
        guard let began = assignment.began?.record, let known = configuration[business] else { return }
        let isChosen = known.people?.queues.isEmpty ?? true || assignment.placement?.rule != nil
        let handOff = progress.state.withLock {
            $0.handOff(began, in: assignment, isQueueChosen: isChosen)
        }
        guard let handOff else { return }
        queue.async { [self] in
            let people = people[business]
            let chosen = people?.queue(assignment.placement?.queue)
            let line = ConversationFigures.handOff(
                handOff, began: began, queue: chosen?.id,
                people?.openingTime(of: chosen) ?? OpeningTime(hours: nil, closings: []))
            let at = handOff.since ?? .now()
            do {
                if at < progress.startedAt, try hasHandOff(began, at: at, known.slug) { return }
                try files.append(line, at: at, known.slug)
            } catch {
                logger.warning(
                    "the figure of a hand-off is lost",
                    metadata: ["business": "\(known.slug)", "error": "\(error)"])
            }
        }
    }

    /// Whether an earlier process has written a hand-off; each file is read once, not for each waiting conversation.
    private func hasHandOff(_ began: UInt64, at: Timestamp, _ slug: String) throws -> Bool {
        guard let path = try files.paths(slug, since: at).min() else { return false }
        if progress.state.withLock({ $0.written[path] }) == nil {
            var found: Set<UInt64> = []
            try FiguresReport.forEachLine(of: path) { line in
                // A damaged line is no figure.
                if let key = (try? JSONDocument(Array(line)))?.root["key"]?.int {
                    found.insert(UInt64(clamping: key))
                }
            }
            progress.state.withLock { [found] state in
                // So many are of many days, whose files are read again when they are asked for.
                if state.written.values.reduce(found.count, { $0 + $1.count }) > 100_000 {
                    state.written = [:]
                }
                state.written[path] = found
            }
        }
        return progress.state.withLock { !($0.written[path]?.insert(began).inserted ?? true) }
    }
}
