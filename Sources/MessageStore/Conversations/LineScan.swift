import BalloonPOSIX
import BusinessMessages

/// Reads the identities of a conversation's lines without parsing each line as JSON.
///
/// That is faster, because a start after a power failure checks many conversations.
enum LineScan {
    /// Returns the identities of the lines in a file's content.
    ///
    /// The lines must have the numbers up to `lastSequence` without gaps. A line that a power failure damaged
    /// contains zeros, or has no line feed. Throws ``StoreError/damaged(file:line:)``.
    static func identities(
        in text: [UInt8], lastSequence: Int, path: String
    ) throws(StoreError) -> Set<LineIdentity> {
        var found: Set<LineIdentity> = []
        let header = ConversationHeader(text)
        found.reserveCapacity(max(0, lastSequence - header.from + 1))
        let isWhole = text.firstPosition(of: 0, from: 0) == nil
        var start = header.sizeBytes
        var sequence = header.from - 1
        while start < text.count {
            sequence += 1
            guard let end = text.firstPosition(of: UInt8(ascii: "\n"), from: start),
                let identity = (isWhole ? identity(of: text[start..<end], sequence) : nil)
                    ?? parsedIdentity(of: Array(text[start..<end]), sequence)
            else { throw .damaged(file: path, line: sequence) }
            found.insert(identity)
            start = end + 1
        }
        guard sequence == lastSequence else { throw .damaged(file: path, line: sequence) }
        return found
    }

    private static func parsedIdentity(of text: [UInt8], _ sequence: Int) -> LineIdentity? {
        guard let line = ConversationLine(text), line.sequence == sequence else { return nil }
        return line.identity
    }

    private static func identity(of line: ArraySlice<UInt8>, _ sequence: Int) -> LineIdentity? {
        line.starts(with: "{\"seq\":\(sequence),".utf8) ? identity(of: line) : nil
    }

    /// Returns the identity of a line whose members are in the order that the store writes; nil for others.
    static func identity(of line: ArraySlice<UInt8>) -> LineIdentity? {
        guard line.starts(with: Name.start), line.last == UInt8(ascii: "}"),
            let comma = line.firstIndex(of: UInt8(ascii: ","))
        else { return nil }
        var scanner = RecordScanner(line, from: comma)
        guard scanner.string(named: Name.at) != nil, let direction = scanner.string(named: Name.direction),
            let id = scanner.string(named: Name.id), scanner.string(named: Name.kind) != nil,
            scanner.string(named: Name.customer) != nil, let name = scanner.nextName(),
            scanner.name(name, is: Name.record), case .number(let record) = scanner.value(),
            let next = scanner.nextName()
        else { return nil }
        if scanner.name(direction, is: Name.outbound) {
            return LineIdentity(record: record, reply: MessageID(scanner.text(id)))
        }
        // Read only an inbound line whose `message` follows `record`. One with members between them is parsed
        // as JSON by the caller.
        guard scanner.name(direction, is: Name.inbound), scanner.name(next, is: Name.message) else {
            return nil
        }
        return LineIdentity(record: record, reply: nil)
    }

    private enum Name {
        static let start = Array("{\"seq\":".utf8)
        static let at = Array("at".utf8)
        static let direction = Array("direction".utf8)
        static let inbound = Array("inbound".utf8)
        static let outbound = Array("outbound".utf8)
        static let id = Array("id".utf8)
        static let kind = Array("kind".utf8)
        static let customer = Array("customer".utf8)
        static let record = Array("record".utf8)
        static let message = Array("message".utf8)
    }
}

extension RecordScanner {
    /// The range of the next member's value, if it has this name and is a string without escapes.
    fileprivate mutating func string(named wanted: [UInt8]) -> Range<Int>? {
        guard let name = nextName(), self.name(name, is: wanted), case .string(let place) = value() else {
            return nil
        }
        return place
    }
}
