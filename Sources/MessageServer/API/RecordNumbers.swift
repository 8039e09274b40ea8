import BalloonJSON
import BalloonWire
import MessageStore

/// The journal's record numbers as a token of the API sees them.
///
/// The journal counts the records of all businesses, so that a number and the distance between two numbers tell how much
/// the others have to do. A token of some businesses therefore gets each number sealed: another number takes its place, by
/// a permutation with the store's key. A number that is not sealed is accepted too, because a program may have kept it.
struct RecordNumbers: Sendable {
    /// The identity of the store.
    let store: String
    private let key: HMACSHA256
    private var isSealing = false

    /// The smallest sealed number.
    ///
    /// No record gets so far, and every JSON parser reads twice as much exactly (RFC 8259 §6).
    private static let first: UInt64 = 1 << 52
    private static let halfBits: UInt64 = 26
    private static let half: UInt64 = (1 << halfBits) - 1
    private static let rounds: ClosedRange<UInt8> = 1...8

    /// Creates the numbers of a store, as a token without a list of businesses sees them.
    init(key: Secret, store: String) {
        self.key = HMACSHA256(key: key)
        self.store = store
    }

    /// Returns the numbers as this token sees them.
    func seen(by token: APIToken) -> RecordNumbers {
        var numbers = self
        numbers.isSealing = token.businesses != nil
        return numbers
    }

    /// The number that the token sees for a record.
    func shown(_ record: UInt64) -> UInt64 {
        guard isSealing, record < Self.first else { return record }
        // A Feistel network: each round is reversible, whatever the round's function is.
        var (left, right) = (record >> Self.halfBits, record & Self.half)
        for round in Self.rounds { (left, right) = (right, left ^ mix(right, round)) }
        return Self.first | left << Self.halfBits | right
    }

    /// The number as an integer of JSON.
    func shown(_ record: UInt64) -> Int { Int(clamping: shown(record) as UInt64) }

    /// The id of a reply as the token sees it.
    func shown(_ id: ReplyID) -> String { "\(ReplyID(record: shown(id.record), index: id.index))" }

    /// The line of a conversation's file as the token sees it.
    func shown(line: [UInt8]) -> [UInt8] {
        // The store wrote the line; one that is damaged is sent as it is, as to other tokens.
        guard isSealing, let root = (try? JSONDocument(line, limits: .stored))?.root,
            let record = root["record"]?.int.flatMap(UInt64.init(exactly:))
        else { return line }
        return root.replacing(members: ["record": Array("\(shown(record) as UInt64)".utf8)])
    }

    /// Returns the record that a number names, sealed or not.
    func record(_ number: UInt64) -> UInt64 {
        guard (Self.first..<Self.first << 1).contains(number) else { return number }
        var (left, right) = ((number - Self.first) >> Self.halfBits, number & Self.half)
        for round in Self.rounds.reversed() { (left, right) = (right ^ mix(left, round), left) }
        return left << Self.halfBits | right
    }

    /// Returns the reply that an id names, sealed or not.
    func reply(_ id: ReplyID) -> ReplyID { ReplyID(record: record(id.record), index: id.index) }

    private func mix(_ half: UInt64, _ round: UInt8) -> UInt64 {
        let bytes = key.bytes(of: [round] + (0..<4).map { UInt8(truncatingIfNeeded: half >> ($0 * 8)) })
        return bytes.prefix(4).reduce(0) { $0 << 8 | UInt64($1) } & Self.half
    }
}
