import BalloonPOSIX
import Synchronization

/// Which deliveries handlers are at work on, in a file that outlives the process.
///
/// A line of 19 digits for each, or of 19 spaces where nothing is under way. A line is written before the handler is
/// called and never synced: what the system has survives the process, and after a power cut nobody asks.
final class InFlightCalls: Sendable {
    private struct State {
        var places: [UInt64: Int] = [:]
        var free: [Int] = []
        var count = 0
        var isClosed = false
    }

    private let file: File
    private let state = Mutex(State())
    private static let lineBytes = emptyLine.count
    private static let emptyLine = Array("                   \n".utf8)

    /// Opens the file; returns what was under way when the last process ended.
    static func open(_ path: String) throws(StoreError) -> (calls: InFlightCalls, left: Set<UInt64>) {
        do throws(SystemError) {
            let file = try File(path, for: .overwriting)
            let lines = try file.readAll().split(separator: UInt8(ascii: "\n"))
            let left = lines.compactMap { UInt64(String(decoding: $0, as: UTF8.self)) }
            return (InFlightCalls(file), Set(left))
        } catch {
            throw .unavailable(path: path, error)
        }
    }

    private init(_ file: File) { self.file = file }

    /// Forgets what was left, once it is in the journal.
    func clear() throws(SystemError) { try file.truncate(to: 0) }

    /// Notes that a handler is called; on a thread that may wait for the disk.
    func begin(_ record: UInt64) {
        let place = state.withLock { state -> Int? in
            guard !state.isClosed, state.places[record] == nil else { return nil }
            let place = state.free.popLast() ?? state.count
            state.count = max(state.count, place + 1)
            state.places[record] = place
            return place
        }
        guard let place else { return }
        var line = Self.emptyLine
        var rest = record
        for index in line.indices.dropLast().reversed() {
            line[index] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        }
        write(line, at: place)
    }

    /// Notes that no handler has the delivery any more.
    func end(_ record: UInt64) {
        let place = state.withLock { $0.isClosed ? nil : $0.places.removeValue(forKey: record) }
        guard let place else { return }
        write(Self.emptyLine, at: place)
        state.withLock { $0.free.append(place) }
    }

    /// Notes that the process ends in good order, whatever handlers do.
    func close() {
        state.withLock { state in
            state.isClosed = true
            // A line that stays counts as a crash that was none; three are needed.
            try? file.truncate(to: 0)
        }
    }

    /// A full disk costs a count of crashes, not a delivery.
    ///
    /// Never under the lock: the place is nobody else's, so that one who waits for the system holds up no other.
    private func write(_ line: [UInt8], at place: Int) {
        try? file.write(line, at: place * Self.lineBytes)
    }
}
