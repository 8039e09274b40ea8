import BalloonPOSIX

/// A time zone of the system's database: its offset from UTC at every time.
///
/// Read from a file in `/usr/share/zoneinfo` (RFC 9636). Unlike `TimeZone` of Foundation it needs no ICU.
package struct TimeZoneFile: Hashable, Sendable {
    /// The name, such as `Europe/Berlin`.
    package let name: String
    /// The offset before the first transition, and then after each one, in seconds.
    private let offsets: [Int64]
    /// The times of the transitions, in seconds since 1970.
    private let transitions: [Int64]
    /// The rule after the last transition; nil when the last offset holds for ever.
    private let rule: ZoneRule?

    /// The folder of the database.
    private static let folder = "/usr/share/zoneinfo/"
    private static let maximumBytes = 1 << 18

    /// Reads the file of a zone; nil when the system has none of this name, or a damaged one.
    package init?(_ name: String) {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        let isName = parts.allSatisfy { part in
            part.first?.isLetter == true
                && part.utf8.allSatisfy {
                    $0 < 0x80 && ($0 == 0x2B || $0 == 0x2D || $0 == 0x5F || isWord($0))
                }
        }
        // Zones of "right" count leap seconds, which times in UTC do not have.
        guard isName, name.utf8.count <= 64, parts.first != "right",
            let file = try? Descriptor.open(reading: Self.folder + name),
            let bytes = try? file.readToEnd(maximumBytes: Self.maximumBytes)
        else { return nil }
        self.init(name, bytes)
    }

    /// Reads the bytes of a file; nil when they are not such a file in version 2 or later.
    init?(_ name: String, _ bytes: [UInt8]) {
        var reader = BigEndianReader(bytes: bytes)
        // The first block has times of 32 bits, for programs before 2005.
        guard let old = ZoneCounts(&reader), old.version >= UInt8(ascii: "2"),
            reader.skip(old.dataBytes(timeBytes: 4)), let counts = ZoneCounts(&reader), counts.leaps == 0,
            counts.types > 0
        else { return nil }
        let transitions = (0..<counts.times).compactMap { _ in reader.integer(8) }
        let kinds = (0..<counts.times).compactMap { _ in reader.integer(1) }
        var offsets: [Int64] = []
        for _ in 0..<counts.types {
            guard let offset = reader.integer(4), reader.skip(2), abs(offset) < 86_400 * 2 else { return nil }
            offsets.append(offset)
        }
        guard transitions.count == counts.times, kinds.allSatisfy({ offsets.indices.contains(Int($0)) }),
            zip(transitions, transitions.dropFirst()).allSatisfy(<),
            reader.skip(counts.characters + counts.standards + counts.universals), let footer = reader.line()
        else { return nil }
        self.name = name
        self.transitions = transitions
        self.offsets = [offsets[0]] + kinds.map { offsets[Int($0)] }
        rule = footer.isEmpty ? nil : ZoneRule(footer)
        if rule == nil, !footer.isEmpty { return nil }
    }

    /// The offset from UTC at a time, in seconds since 1970; positive east of Greenwich.
    func offset(at time: Int64) -> Int64 {
        if let rule, transitions.last ?? .min <= time { return rule.offset(at: time) }
        var (low, high) = (0, transitions.count)
        while low < high {
            let middle = (low + high) / 2
            if transitions[middle] <= time { low = middle + 1 } else { high = middle }
        }
        return offsets[low]
    }

    /// The time at which clocks of the zone show a second of a day, which is counted from 1970.
    ///
    /// When clocks are set back, they show it twice: the result is the first time, and with `isLast` the last one. When
    /// clocks are set forward over it, the result is the time of that change.
    func time(day: Int64, second: Int64, isLast: Bool = false) -> Int64 {
        let shown = day * 86_400 + second
        let (before, after) = (offset(at: shown - 86_400), offset(at: shown + 86_400))
        let found = [shown - before, shown - after].filter { offset(at: $0) + $0 == shown }
        if let time = isLast ? found.max() : found.min() { return time }
        var (early, late) = (shown - max(before, after), shown - min(before, after))
        while late - early > 1 {
            let middle = (early + late) / 2
            if offset(at: middle) == before { early = middle } else { late = middle }
        }
        return late
    }
}

private func isWord(_ byte: UInt8) -> Bool {
    let character = Character(Unicode.Scalar(byte))
    return character.isLetter || character.isNumber
}

/// The header of a block: how many of each part follow (RFC 9636 §3.1).
private struct ZoneCounts {
    let version: UInt8
    let universals, standards, leaps, times, types, characters: Int

    init?(_ reader: inout BigEndianReader) {
        guard reader.integer(4) == 0x545A_6966, let version = reader.integer(1), reader.skip(15) else {
            return nil
        }
        let counts = (0..<6).compactMap { _ in reader.integer(4) }
        guard counts.count == 6, counts.allSatisfy({ (0...100_000).contains($0) }) else { return nil }
        self.version = UInt8(truncatingIfNeeded: version)
        (universals, standards, leaps) = (Int(counts[0]), Int(counts[1]), Int(counts[2]))
        (times, types, characters) = (Int(counts[3]), Int(counts[4]), Int(counts[5]))
    }

    func dataBytes(timeBytes: Int) -> Int {
        times * (timeBytes + 1) + types * 6 + characters + leaps * (timeBytes + 4) + standards + universals
    }
}

/// Reads numbers of a file from left to right, the most significant byte first.
private struct BigEndianReader {
    let bytes: [UInt8]
    var position = 0

    /// The next signed number of some bytes; one byte has no sign.
    mutating func integer(_ count: Int) -> Int64? {
        guard position + count <= bytes.count else { return nil }
        defer { position += count }
        var value = count > 1 && bytes[position] >= 0x80 ? Int64(-1) : 0
        for byte in bytes[position..<position + count] { value = value << 8 | Int64(byte) }
        return value
    }

    mutating func skip(_ count: Int) -> Bool {
        position += count
        return position <= bytes.count
    }

    /// The text between two line feeds, which ends the file.
    mutating func line() -> Substring? {
        let rest = bytes[position...]
        guard rest.count >= 2, rest.first == 0x0A, rest.last == 0x0A, rest.allSatisfy({ $0 < 0x80 }) else {
            return nil
        }
        return String(decoding: rest.dropFirst().dropLast(), as: UTF8.self)[...]
    }
}
