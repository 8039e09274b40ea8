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
    /// Returns a line as long as the replaced one, without its line feed; nil when that one is too short.
    ///
    /// A replaced line that is too short for all members lacks the less important ones.
    static func bytes(
        replacing line: ArraySlice<UInt8>, _ header: JournalLine.Header, _ record: JournalRecord
    ) -> [UInt8]? {
        let type = String(decoding: line[header.type], as: UTF8.self)
        // Keep no key of a replay, because a duplicate is never compared with a replay.
        let key = record.message.flatMap { $0.replayOf == nil ? $0.key : nil }
        let at = record.message?.at
        let choices: [(was: String?, of: UInt64?, at: Timestamp?)] =
            record.message == nil
            ? [(type, record.subject, nil), (type, nil, nil), (nil, nil, nil)]
            : [(type, nil, at), (nil, nil, at), (nil, nil, nil)]
        for (was, of, at) in choices {
            var body = JSONWriter.object([
                "type": "erased", "was": was, "of": of.map { Int(clamping: $0) }, "at": at?.rfc3339,
                "key": key?.hexadecimal,
            ])
            let missing = line.count - bytes(body, header).count
            if missing < 0 { continue }
            body.insert(contentsOf: repeatElement(UInt8(ascii: " "), count: missing), at: body.count - 1)
            return bytes(body, header)
        }
        return nil
    }

    private static func bytes(_ body: [UInt8], _ header: JournalLine.Header) -> [UInt8] {
        var bytes: [UInt8] = []
        JournalLine.write(body: body, record: header.record, batch: header.batch, onto: &bytes)
        bytes.removeLast()
        return bytes
    }
}

extension MessageKey {
    /// The key as 32 hexadecimal digits.
    var hexadecimal: String { high.hexadecimal + low.hexadecimal }

    /// Parses 32 hexadecimal digits; nil for any other text.
    init?(hexadecimal text: String) {
        guard text.utf8.count == 32, let high = UInt64(text.prefix(16), radix: 16),
            let low = UInt64(text.suffix(16), radix: 16)
        else { return nil }
        self.init(high: high, low: low)
    }
}
