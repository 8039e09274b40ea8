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
        guard line.starts(with: "{\"seq\":".utf8), line.last == UInt8(ascii: "}"),
            let comma = line.firstIndex(of: UInt8(ascii: ","))
        else { return nil }
        var scanner = RecordScanner(line, from: comma)
        guard scanner.string(named: "at") != nil, let direction = scanner.string(named: "direction"),
            let id = scanner.string(named: "id"), scanner.string(named: "kind") != nil,
            scanner.string(named: "customer") != nil, scanner.nextName() == "record",
            case .number(let record) = scanner.value(), let next = scanner.nextName()
        else { return nil }
        return switch scanner.text(direction) {
        case "outbound": LineIdentity(record: record, reply: MessageID(scanner.text(id)))
        // Read only an inbound line whose `message` follows `record`. One with members between them is parsed
        // as JSON by the caller.
        case "inbound" where next == "message": LineIdentity(record: record, reply: nil)
        default: nil
        }
    }
}

extension RecordScanner {
    /// The range of the next member's value, if it has this name and is a string without escapes.
    fileprivate mutating func string(named wanted: String) -> Range<Int>? {
        guard nextName() == wanted, case .string(let place) = value() else { return nil }
        return place
    }
}
