import BalloonJSON
import BalloonPOSIX
import BusinessMessages

/// A search for text in the lines of conversations; upper and lower case are equal.
struct TextSearch: Sendable {
    private let wanted: String
    /// The longest part of the text that every matching line has as bytes, apart from case.
    private let part: [UInt8]

    init(_ text: String) {
        wanted = text.lowercased()
        // JSON may escape quotation marks, slashes and control characters, and the case of other letters takes tables.
        part =
            wanted.utf8.split { $0 < 0x20 || $0 >= 0x7F || $0 == 0x22 || $0 == 0x2F || $0 == 0x5C }
            .max { $0.count < $1.count }.map(Array.init) ?? []
    }

    /// The line, if its message contains the text.
    func match(_ text: [UInt8]) -> ConversationLine? {
        // Escaped letters could be any.
        guard part.isEmpty || contains(text) || text[...].firstPosition(of: Self.escape) != nil else {
            return nil
        }
        guard let line = ConversationLine(text), !line.isFilesOnly, contains(line.message) else { return nil }
        return line
    }

    private static let escape = Array("\\u".utf8)

    private func contains(_ text: [UInt8]) -> Bool {
        guard let first = part.first, text.count >= part.count else { return part.isEmpty }
        let last = text.count - part.count
        var start = 0
        while start <= last {
            if Self.lowercased(text[start]) == first {
                var offset = 1
                while offset < part.count, Self.lowercased(text[start + offset]) == part[offset] {
                    offset += 1
                }
                if offset == part.count { return true }
            }
            start += 1
        }
        return false
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
    }

    /// Whether a text for people in the message, at any depth, contains the wanted text.
    private func contains(_ value: JSONValue) -> Bool {
        switch value.kind {
        case .string: value.string?.lowercased().contains(wanted) ?? false
        case .array: value.elements.contains(where: contains)
        case .object:
            value.members.contains {
                ($0.value.kind != .string || !Self.technical.contains($0.key)) && contains($0.value)
            }
        case .number, .boolean, .null: false
        }
    }

    /// Members whose text names, types or addresses something, or is Base64; objects under these names are searched.
    private static let technical: Set<String> = [
        "id", "type", "sourceId", "destinationId", "v", "version", "bid", "requestIdentifier", "mimeType",
        "identifier", "sessionIdentifier", "imageIdentifier", "style", "url", "key", "signature", "owner",
        "locale", "intent", "group", "data", "payload",
    ]
}
