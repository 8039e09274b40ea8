/// The name of a journal segment: its first record's number in at least twelve digits, and `.jsonl`.
enum SegmentName {
    /// The suffix of a quarantined segment's name.
    static let damagedSuffix = ".damaged"
    private static let suffix = ".jsonl"

    /// The name of the segment that begins with this record, such as `000000000012.jsonl`.
    static func text(firstRecord: UInt64) -> String {
        let digits = String(firstRecord)
        return String(repeating: "0", count: max(0, 12 - digits.utf8.count)) + digits + suffix
    }

    /// The path of the segment that begins with this record.
    static func path(_ firstRecord: UInt64, in folder: String) -> String {
        folder + "/" + text(firstRecord: firstRecord)
    }

    /// Parses a segment's name, and returns its first record; nil for the name of any other file.
    static func firstRecord(_ name: String) -> UInt64? {
        guard name.hasSuffix(suffix) else { return nil }
        let digits = name.utf8.dropLast(suffix.utf8.count)
        guard digits.count >= 12, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return String(digits).flatMap(UInt64.init)
    }
}
