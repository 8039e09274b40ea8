import BalloonJSON
import BalloonPOSIX

extension JournalRecord {
    /// The rest of a record of an erased customer, after the erasure.
    ///
    /// `{"record":2,"batch":1,"type":"erased","was":"message","at":"…","key":"…"   ,"crc32":"…"}`.
    struct Erased: Hashable, Sendable {
        /// The identity of an erased message, by which a duplicate is detected; nil for other records.
        let key: MessageKey?
        /// The time of the erased record, if it is known.
        let at: Timestamp?

        /// Parses a record of this type.
        init(_ root: JSONValue) {
            key = root["key"]?.string.flatMap(MessageKey.init(hexadecimal:))
            at = root.timestamp("at")
        }
    }
}

/// Writes the line that replaces a record of an erased customer.
///
/// The new line has the same record number, batch number and length, so every other line keeps its offset.
enum ErasedLine {
    /// The members of the new line; when the replaced line is too short for all, the last ones are omitted.
    private struct Members {
        var was: String?
        var of: UInt64?
        var at: Timestamp?
        var key: MessageKey?

        /// Returns the body, with `padding` blanks after the last member.
        func body(padding: Int) -> [UInt8] {
            var body = JSONWriter.object { writer in
                writer.field("type", "erased")
                writer.field("was", was)
                writer.field("of", of.map { Int(clamping: $0) })
                if let at { writer.field("at", at) }
                writer.field("key", key?.hexadecimal)
            }
            body.insert(contentsOf: repeatElement(UInt8(ascii: " "), count: padding), at: body.count - 1)
            return body
        }
    }

    /// Returns a line as long as the replaced one, without its line feed; nil when that one is too short.
    static func bytes(
        replacing line: ArraySlice<UInt8>, _ header: JournalLine.Header, _ record: JournalRecord
    ) -> [UInt8]? {
        for members in candidates(String(decoding: line[header.type], as: UTF8.self), record) {
            let shortest = bytes(members, header, padding: 0)
            if shortest.count <= line.count {
                return bytes(members, header, padding: line.count - shortest.count)
            }
        }
        return nil
    }

    private static func bytes(_ members: Members, _ header: JournalLine.Header, padding: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        JournalLine.write(
            body: members.body(padding: padding), record: header.record, batch: header.batch, onto: &bytes)
        bytes.removeLast()
        return bytes
    }

    private static func candidates(_ type: String, _ record: JournalRecord) -> [Members] {
        if let message = record.message {
            // Keep no key of a replay, because a duplicate is never compared with a replay.
            let key = message.replayOf == nil ? message.key : nil
            return [
                Members(was: type, at: message.at, key: key), Members(at: message.at, key: key),
                Members(key: key),
            ]
        }
        return [Members(was: type, of: record.subject), Members(was: type), Members()]
    }
}

extension MessageKey {
    /// The key as 32 hexadecimal digits.
    var hexadecimal: String { Self.digits(high) + Self.digits(low) }

    /// Parses 32 hexadecimal digits; nil for any other text.
    init?(hexadecimal text: String) {
        guard text.utf8.count == 32, let high = UInt64(text.prefix(16), radix: 16),
            let low = UInt64(text.suffix(16), radix: 16)
        else { return nil }
        self.init(high: high, low: low)
    }

    private static func digits(_ value: UInt64) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}
