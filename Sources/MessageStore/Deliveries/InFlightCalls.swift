import BalloonPOSIX
import Synchronization

/// Which deliveries are leased, in a file that outlives the process.
///
/// A line of 19 characters for each: the record's digits, behind `!` when the delivery ran alone in the whole process; 19 spaces
/// where nothing is leased. A line is written at the lease and never synced: what the system has survives the process, and
/// after a power cut nothing is counted.
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
    private static let alone = UInt8(ascii: "!")

    /// Opens the file; returns what was leased when the last process ended, and whether it ran alone.
    static func open(_ path: String) throws(StoreError) -> (calls: InFlightCalls, left: [UInt64: Bool]) {
        do throws(SystemError) {
            let file = try File(path, for: .overwriting)
            let lines = try file.readAll().split(separator: UInt8(ascii: "\n"))
            var left: [UInt64: Bool] = [:]
            for line in lines {
                let isAlone = line.first == alone
                let digits = isAlone ? line.dropFirst() : line
                if let record = UInt64(String(decoding: digits, as: UTF8.self)) { left[record] = isAlone }
            }
            return (InFlightCalls(file), left)
        } catch {
            throw .unavailable(path: path, error)
        }
    }

    private init(_ file: File) { self.file = file }

    /// Forgets what was left, once it is in the journal.
    func clear() throws(SystemError) { try file.truncate(to: 0) }

    /// Records a lease; on a thread that may wait for the disk.
    func begin(_ record: UInt64, isAlone: Bool) {
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
        // A record number has fewer digits than the line.
        if isAlone { line[0] = Self.alone }
        write(line, at: place)
    }

    /// Records the end of a lease.
    func end(_ record: UInt64) {
        let place = state.withLock { $0.isClosed ? nil : $0.places.removeValue(forKey: record) }
        guard let place else { return }
        write(Self.emptyLine, at: place)
        state.withLock { $0.free.append(place) }
    }

    /// Records that the process ends in good order, whatever handlers do.
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
