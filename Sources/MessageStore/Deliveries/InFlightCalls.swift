import BalloonPOSIX
import Dispatch
import Synchronization

/// A file of the messages that are currently resolved, recorded or delivered, which survives a crash of the
/// process.
///
/// The next process learns from the file which messages may have caused the crash.
///
/// Each message has a line of 19 characters: one for the step, and the record number in 18 digits. A free
/// line has 19 spaces. A line is written when the step begins, and is never synced: written data survives the
/// end of the process. A power failure may lose the line, but need not count as a crash.
///
/// A store in PostgreSQL has the file, too, so that the server that takes it counts the crashes of a dead one. It gets each line
/// of a message that runs alone before the message does; and after the death of another machine, whose lines may be lost, each
/// line of an unfinished message.
///
/// The first line belongs to no message. It says `stop` once the process was asked to stop, and the other
/// lines then count no crash, however the process ends.
final class InFlightCalls: Sendable {
    /// A step that may crash the process.
    enum Step: UInt8, Sendable {
        /// The delivery is leased; written as `0`.
        case delivers = 0x30
        /// The delivery is leased, and all other deliveries wait; written as `!`.
        case deliversAlone = 0x21
        /// The message of an earlier process is resolved or recorded; written as `r`.
        case records = 0x72
        /// The message of an earlier process is recorded, and no other message is recorded or delivered
        /// meanwhile; written as `R`.
        case recordsAlone = 0x52

        /// Whether no other message is processed during this step, so that this message caused a crash.
        var isAlone: Bool { self == .deliversAlone || self == .recordsAlone }
        var isDelivery: Bool { self == .delivers || self == .deliversAlone }
    }

    private struct State {
        var places: [UInt64: Int] = [:]
        /// The messages whose line another machine may know.
        var kept: Set<UInt64> = []
        var free: [Int] = []
        /// The number of lines; the first is the mark of a stop.
        var count = 1
        /// Whether the process was asked to stop; no line is written any more.
        var isStopped = false
        /// The callers whose line the database has after the next transaction.
        var waiting: [CheckedContinuation<Void, Never>] = []
        var isKeeping = false
    }

    private let file: File
    private let lines: MappedFile
    /// Whether messages of earlier processes do not begin before another machine knows.
    let keepsRecovered: Bool
    private let queue = DispatchQueue(label: "balloon.calls")
    private let state = Mutex(State())
    private static let lineBytes = emptyLine.count
    private static let emptyLine = Array("                   \n".utf8)
    private static let stopLine = Array("stop               \n".utf8)

    /// Opens the file; returns it, and the steps of the messages that were in it when the last process ended.
    ///
    /// No message was in it when that process had been asked to stop.
    static func open(
        _ path: String, keepsRecovered: Bool = false
    ) throws(StoreError) -> (calls: InFlightCalls, left: [UInt64: Step]) {
        do throws(SystemError) {
            let file = try File(path, for: .overwriting)
            let bytes = try file.readAll()
            var left: [UInt64: Step] = [:]
            let calls = InFlightCalls(file, keepsRecovered: keepsRecovered)
            if bytes.starts(with: stopLine) { return (calls, left) }
            // The file is read in pieces of equal size, because a line that was never written is a hole of
            // zeros without a line feed.
            for start in stride(from: 0, to: bytes.count, by: lineBytes) {
                let line = bytes[start...].prefix(lineBytes).prefix { $0 != UInt8(ascii: "\n") }
                guard line.count == lineBytes - 1, let step = line.first.flatMap(Step.init),
                    let record = UInt64(String(decoding: line.dropFirst(), as: UTF8.self))
                else { continue }
                left[record] = step
            }
            return (calls, left)
        } catch {
            throw .unavailable(path: path, error)
        }
    }

    private init(_ file: File, keepsRecovered: Bool) {
        (self.file, self.keepsRecovered) = (file, keepsRecovered)
        lines = MappedFile(file, maximumBytes: 4 << 20)
    }

    /// Removes the lines of the last process; called after its crashes were journalled.
    func clear() throws(SystemError) {
        try file.truncate(to: 0)
        // The mark of a stop then needs no space, which a full disk would refuse.
        write(Self.emptyLine, at: 0)
    }

    /// Writes the line of a message whose step begins; the calling thread may have to wait for the disk.
    ///
    /// When it returns true, the step begins after ``keep()`` or ``keepAtOnce()``.
    func begin(_ message: PendingDelivery, _ step: Step) -> Bool {
        let isKept = step.isAlone || keepsRecovered && message.isRecovered
        let place = state.withLock { state -> Int? in
            guard !state.isStopped, state.places[message.record] == nil else { return nil }
            let place = state.free.popLast() ?? state.count
            state.count = max(state.count, place + 1)
            state.places[message.record] = place
            if isKept { state.kept.insert(message.record) }
            return place
        }
        guard let place else { return false }
        write(line(message.record, step), at: place)
        return isKept
    }

    /// Records that a message runs alone.
    func beginAlone(_ record: UInt64) async {
        change(record, to: .deliversAlone)
        await keep()
    }

    /// Records that a message does not run alone any more.
    func endAlone(_ record: UInt64) {
        change(record, to: .delivers)
        try? file.keepOverwritten(isAwaited: false)
    }

    private func change(_ record: UInt64, to step: Step) {
        let place = state.withLock { state -> Int? in
            guard !state.isStopped, let place = state.places[record] else { return nil }
            state.kept.insert(record)
            return place
        }
        if let place { write(line(record, step), at: place) }
    }

    /// Waits on this thread until the database has the file; without the database, a message runs as on a full disk.
    func keepAtOnce() { try? file.keepOverwritten(isAwaited: true) }

    /// Waits until the database has the file, with all who call this during the transaction before; returns at once without one.
    func keep() async {
        guard file.isKeptElsewhere else { return }
        await withCheckedContinuation { continuation in
            let begins = state.withLock { state in
                state.waiting.append(continuation)
                defer { state.isKeeping = true }
                return !state.isKeeping
            }
            if begins { queue.async { self.keepForWaiting() } }
        }
    }

    private func keepForWaiting() {
        while true {
            let waiting = state.withLock { state in
                defer { state.waiting = [] }
                state.isKeeping = !state.waiting.isEmpty
                return state.waiting
            }
            if waiting.isEmpty { return }
            keepAtOnce()
            for one in waiting { one.resume() }
        }
    }

    private func line(_ record: UInt64, _ step: Step) -> [UInt8] {
        var line = Self.emptyLine
        var rest = record
        for index in line.indices.dropLast().reversed() {
            line[index] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        }
        // A record number has at most 18 digits, so the first character is free for the step.
        line[0] = step.rawValue
        return line
    }

    /// Clears the line of a message whose step has ended.
    func end(_ record: UInt64) {
        let (place, wasKept) = state.withLock { state in
            state.isStopped
                ? (nil, false) : (state.places.removeValue(forKey: record), state.kept.remove(record) != nil)
        }
        guard let place else { return }
        write(Self.emptyLine, at: place)
        if wasKept { try? file.keepOverwritten(isAwaited: false) }
        state.withLock { $0.free.append(place) }
    }

    /// Whether the process was asked to stop.
    var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Marks the file once, when the process is asked to stop, so that no message counts a crash from then
    /// on.
    ///
    /// If the write fails, a line may count as one crash by mistake. A message becomes a dead letter after
    /// three crashes only.
    func recordStop() {
        let isFirst = state.withLock { state in
            defer { state.isStopped = true }
            return !state.isStopped
        }
        guard isFirst else { return }
        write(Self.stopLine, at: 0)
        try? file.keepOverwritten(isAwaited: false)
    }

    /// Writes a line; ignores an error, so that deliveries continue on a full disk, although a crash is not
    /// counted then.
    ///
    /// The caller does not hold the lock, so a blocking write delays no other caller. Each place in the file
    /// belongs to one message at a time.
    private func write(_ line: [UInt8], at place: Int) {
        try? lines.write(line, at: place * Self.lineBytes)
    }
}
