import BalloonPOSIX
import BusinessMessages

/// The messages that begin in one segment of the journal, with their states.
///
/// When the segment has grown, only the appended part is read.
struct SegmentEvents: Sendable {
    /// A message, or the failure of a reply that the handler gets as an event.
    struct Event: Sendable {
        let conversation: ConversationKey
        let at: Timestamp
        var state: MessageState
    }

    /// A record about a message of an earlier segment.
    struct Later: Sendable {
        enum Change: Sendable {
            case record(JournalRecord, at: RecordLocation)
            /// The message, or one of its replies, was replayed.
            case retry(reply: Int?)
        }

        let subject: UInt64
        let number: UInt64
        let change: Change
    }

    let segment: UInt64
    /// The messages in order; nil when they were dropped to save memory.
    private var events: [Event]? = []
    /// Whether the segment was read after the last record was written to it.
    private(set) var isComplete = false
    /// The arrival time of the latest message.
    private(set) var latestAt: Timestamp?
    /// The records about messages of earlier segments, in order.
    private(set) var later: [Later] = []
    /// The offset behind the last line, where reading continues.
    private var endBytes = 0
    private var scan: SegmentScan
    private var places: [UInt64: Int] = [:]

    init(_ segment: UInt64, abandoned: AbandonedRecords) {
        self.segment = segment
        scan = SegmentScan(firstRecord: segment, abandoned: abandoned)
    }

    /// The number of cached messages.
    var count: Int { events?.count ?? 0 }

    /// Whether the messages are cached.
    var isLoaded: Bool { events != nil }

    /// Returns the messages between two records, newest first.
    func newestFirst(before record: UInt64, downTo earliest: UInt64) -> some Sequence<Event> {
        (events ?? []).reversed().lazy.drop { $0.state.record >= record }.prefix {
            $0.state.record >= earliest
        }
    }

    /// Drops the messages, and keeps the records about messages of earlier segments.
    mutating func drop() {
        events = nil
        places = [:]
    }

    /// Reads what was appended since the last call, or everything after `drop`; returns the number of bytes.
    ///
    /// `isLast` says whether the segment is the journal's last one; only that one still grows.
    mutating func read(
        _ path: String, abandoned: AbandonedRecords, isLast: Bool
    ) throws(SystemError) -> Int {
        if events == nil { self = SegmentEvents(segment, abandoned: abandoned) }
        let begin = endBytes
        var lines = SegmentLines(try File(path, for: .reading), continuing: scan, at: endBytes)
        while let line = try lines.next() {
            let location = lines.location(of: line, in: segment)
            // `SegmentLines` has verified the checksum, so the line is as the store wrote it.
            if let record = JournalRecord(lines.buffer[line.range], line.header) {
                apply(record, number: line.record, at: location)
            }
            endBytes = Int(location.offset) + Int(location.lengthBytes) + 1
            scan = lines.scan
        }
        isComplete = !isLast
        return endBytes - begin
    }

    private mutating func apply(_ record: JournalRecord, number: UInt64, at location: RecordLocation) {
        switch record {
        case .message(let message):
            if let original = message.replayOf {
                change(original, by: number, .retry(reply: message.retriedReply))
            }
            add(
                Event(
                    conversation: message.conversation, at: message.at ?? Timestamp(milliseconds: 0),
                    state: MessageState(message, record: number, at: location)))
        case .reply(let reply):
            change(reply.of, by: number, .record(record, at: location))
            if let conversation = reply.reportedIn {
                add(
                    Event(
                        conversation: conversation, at: reply.at ?? Timestamp(milliseconds: 0),
                        state: MessageState(failureIn: number, at: location)))
            }
        default:
            if let subject = record.subject { change(subject, by: number, .record(record, at: location)) }
        }
    }

    private mutating func add(_ event: Event) {
        places[event.state.record] = events?.count
        events?.append(event)
        latestAt = max(latestAt ?? event.at, event.at)
    }

    private mutating func change(_ subject: UInt64, by number: UInt64, _ change: Later.Change) {
        let later = Later(subject: subject, number: number, change: change)
        if subject < segment { return self.later.append(later) }
        guard let place = places[subject] else { return }
        events?[place].state.apply(later)
    }
}

extension MessageState {
    /// Applies a record of a later segment.
    mutating func apply(_ later: SegmentEvents.Later) {
        switch later.change {
        case .record(let record, let location): apply(record, number: later.number, at: location)
        case .retry(let reply): applyRetry(of: reply, as: later.number)
        }
    }

    /// Whether only replies of the message were copied to a later segment; the message had been handled.
    var isOfRepliesOnly: Bool { isCarried && status == .handled }
}
