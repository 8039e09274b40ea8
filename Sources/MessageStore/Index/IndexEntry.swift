import BalloonPOSIX
package import BusinessMessages

/// A conversation's entry in the index of conversations, in 56 bytes.
package struct IndexEntry: Hashable, Sendable {
    /// The place of an entry in the order of an index: by time, then by digest.
    package struct Position: Hashable, Comparable, Sendable {
        let milliseconds: Int64
        let digest: ConversationDigest

        package static func < (left: Self, right: Self) -> Bool {
            if left.milliseconds != right.milliseconds { return left.milliseconds < right.milliseconds }
            return left.digest < right.digest
        }

        /// The position as text: the time of the last listed conversation's last line, and its file's name.
        package var text: String { "\(milliseconds).\(digest.hexadecimal)" }
    }

    /// The name of the conversation's file: the SHA-256 of the customer.
    package let digest: ConversationDigest
    /// The time of the last line, in milliseconds since 1970.
    let milliseconds: Int64
    /// The number of the last line, which also counts removed lines.
    package let lines: UInt32
    /// The number of the business in the index that has the entry.
    let business: UInt16
    /// The kind of the last line, as an index in `kinds`.
    let kindNumber: UInt8
    private var flags: UInt8
    /// The day of the oldest line, counted from 1970-01-01.
    var oldestDay: UInt16

    init(
        _ digest: ConversationDigest, business: UInt16, at milliseconds: Int64, lines: UInt32,
        kindNumber: UInt8, isOutbound: Bool, oldestDay: UInt16
    ) {
        self.oldestDay = oldestDay
        self.digest = digest
        self.business = business
        self.milliseconds = milliseconds
        self.lines = lines
        self.kindNumber = kindNumber
        flags = isOutbound ? Flag.outbound : 0
    }

    private enum Flag {
        static let outbound: UInt8 = 1
        static let unwritten: UInt8 = 2
    }

    /// Returns this entry with the number that its business has in another index or file.
    func numbered(_ business: UInt16) -> IndexEntry {
        IndexEntry(
            digest, business: business, at: milliseconds, lines: lines, kindNumber: kindNumber,
            isOutbound: isOutbound, oldestDay: oldestDay)
    }

    /// Returns the day of a time, counted from 1970-01-01.
    static func day(of time: Timestamp) -> UInt16 { UInt16(clamping: time.milliseconds / 86_400_000) }

    /// The conversation's position in a list.
    package var position: Position { Position(milliseconds: milliseconds, digest: digest) }

    /// Whether the last line is a message to the customer.
    package var isOutbound: Bool { flags & Flag.outbound != 0 }

    /// Whether the index's file lacks the entry in its current form.
    var isUnwritten: Bool {
        get { flags & Flag.unwritten != 0 }
        set { flags = newValue ? flags | Flag.unwritten : flags & ~Flag.unwritten }
    }

    /// The kind of the last line.
    package var kind: Kind {
        let kinds = Self.kinds
        return Int(kindNumber) < kinds.count ? kinds[Int(kindNumber)] : .unrecognized
    }

    static let kinds = Kind.allCases
    private static let kindNumbers = Dictionary(
        uniqueKeysWithValues: kinds.enumerated().map { ($1, UInt8(truncatingIfNeeded: $0)) })

    static func number(of kind: Kind) -> UInt8 { kindNumbers[kind] ?? UInt8.max }
}

extension IndexEntry.Position {
    /// Parses ``text``; nil when it has another form.
    package init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let milliseconds = Int64(parts[0]),
            let digest = ConversationDigest(String(parts[1]))
        else { return nil }
        self.init(milliseconds: milliseconds, digest: digest)
    }
}
