import BalloonPOSIX
import Synchronization

/// The leased deliveries, in a file that survives the process.
///
/// Each has a line of 19 characters: the record's digits, preceded by `!` when the delivery ran alone in the
/// whole process; 19 spaces when free. A line is written at the lease and never synced: written data survives
/// the process, and after a power failure crashes are not counted.
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

    /// Opens the file; returns the deliveries that were leased when the last process ended, and whether each
    /// ran alone.
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

    /// Clears the old entries after they were journalled.
    func clear() throws(SystemError) { try file.truncate(to: 0) }

    /// Records a lease; called on a thread that may wait for the disk.
    func begin(_ record: UInt64, isAlone: Bool) {
        let place = state.withLock { state -> Int? in
            guard !state.isClosed, state.places[record] == nil else { return nil }
            let place = state.free.popLast() ?? state.count
            state.count = max(state.count, place + 1)
            state.places[record] = place
            return place
        }
        if let place { write(line(record, isAlone: isAlone), at: place) }
    }

    /// Records that a leased delivery runs alone from now on, or does not.
    func mark(_ record: UInt64, isAlone: Bool) {
        guard let place = state.withLock({ $0.isClosed ? nil : $0.places[record] }) else { return }
        write(line(record, isAlone: isAlone), at: place)
    }

    private func line(_ record: UInt64, isAlone: Bool) -> [UInt8] {
        var line = Self.emptyLine
        var rest = record
        for index in line.indices.dropLast().reversed() {
            line[index] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        }
        // A record number has fewer digits than the line.
        if isAlone { line[0] = Self.alone }
        return line
    }

    /// Records the end of a lease.
    func end(_ record: UInt64) {
        let place = state.withLock { $0.isClosed ? nil : $0.places.removeValue(forKey: record) }
        guard let place else { return }
        write(Self.emptyLine, at: place)
        state.withLock { $0.free.append(place) }
    }

    /// Records a normal end of the process, regardless of running handlers.
    func close() {
        state.withLock { state in
            state.isClosed = true
            // A remaining line counts as a crash incorrectly; three crashes are needed for a consequence.
            try? file.truncate(to: 0)
        }
    }

    /// On a full disk, a crash is not counted, but the delivery continues.
    ///
    /// Called without the lock: each place has one owner, so a blocking write delays no other caller.
    private func write(_ line: [UInt8], at place: Int) {
        try? file.write(line, at: place * Self.lineBytes)
    }
}
