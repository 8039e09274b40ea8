import BalloonWire
import BusinessMessages

/// The conversation lines that must exist according to the journal; each is marked when it is found.
struct ExpectedLines {
    private struct Line {
        let record: UInt64
        /// The number of the record that finished the line's message.
        let end: UInt64
        /// The checksum of the line's text after its number; nil if the journal lacks data of the line.
        let checksum: UInt32?
        /// The checksum of the line as versions wrote it that did not record capabilities.
        let olderChecksum: UInt32?
        /// The index of the conversation's path in `paths`.
        let path: Int32
        var isFound = false
    }

    private var lines: [Int: Line] = [:]
    private var paths: [String] = []
    private var places: [String: Int32] = [:]
    private var checkpoint: UInt64 = 0
    /// The number of found lines.
    private(set) var found = 0

    mutating func recordCheckpoint(through record: UInt64) { checkpoint = max(checkpoint, record) }

    /// Adds a line of a finished message.
    mutating func insert(_ entry: ConversationEntry, finishedBy end: UInt64) {
        let path = ConversationPath.file(entry.conversation)
        let place = places[path] ?? Int32(paths.count)
        if place == paths.count {
            places[path] = place
            paths.append(path)
        }
        lines[key(path, entry.identity)] = Line(
            record: entry.record, end: end,
            checksum: entry.isRedacted ? nil : Self.checksum(entry),
            olderChecksum: entry.isRedacted ? nil : entry.withoutCapabilities.map(Self.checksum), path: place)
    }

    private static func checksum(_ entry: ConversationEntry) -> UInt32 {
        checksum(entry.line(sequence: 0).dropLast())
    }

    /// Frees memory that only insertions need; no line may be inserted afterwards.
    mutating func finish() { places = [:] }

    /// Removes the lines of a conversation that cannot be checked, so that none counts as missing.
    mutating func excuse(_ path: String) {
        guard let place = paths.firstIndex(of: path) else { return }
        lines = lines.filter { $0.value.path != Int32(place) }
    }

    /// Removes the lines of all conversations in an unreadable folder, so that none counts as missing.
    mutating func excuse(below folder: String) {
        let isBelow = paths.map { $0.hasPrefix(folder + "/") }
        lines = lines.filter { !isBelow[Int($0.value.path)] }
    }

    /// Marks a line that was found in a conversation's file.
    ///
    /// Returns the problem when the line differs from the journal's or was found before; nil when it is the
    /// journal's, or the journal does not contain it.
    mutating func take(
        _ line: ConversationLine, _ text: [UInt8], in path: String
    ) -> StoreProblem.Kind? {
        let key = key(path, line.identity)
        guard let known = lines[key] else { return nil }
        if known.isFound { return .repeated }
        lines[key]?.isFound = true
        found += 1
        guard let checksum = known.checksum else { return nil }
        let found = Self.checksum(text[...])
        return found == checksum || found == known.olderChecksum ? nil : .differs
    }

    /// The lines up to the last checkpoint that were not found, in the order of their records.
    var missing: [(record: UInt64, path: String)] {
        lines.values.filter { !$0.isFound && $0.end <= checkpoint }
            .map { ($0.record, paths[Int($0.path)]) }
            .sorted { $0.0 < $1.0 }
    }

    private func key(_ path: String, _ identity: LineIdentity) -> Int {
        var hasher = Hasher()
        hasher.combine(path)
        hasher.combine(identity)
        return hasher.finalize()
    }

    private static func checksum(_ line: ArraySlice<UInt8>) -> UInt32 {
        let comma = line.firstIndex(of: UInt8(ascii: ",")) ?? line.endIndex
        return CRC32.checksum(of: line[comma...])
    }
}
