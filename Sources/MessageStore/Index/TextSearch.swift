import BalloonJSON
import BalloonPOSIX
import BusinessMessages

/// A search for text in the lines of conversations; it ignores the difference of upper and lower case.
struct TextSearch: Sendable {
    private let wanted: String
    /// The longest part of the text whose bytes are the same in every matching line, apart from ASCII case.
    private let part: [UInt8]

    init(_ text: String) {
        wanted = text.lowercased()
        // Exclude characters that JSON may escape, and letters with case outside ASCII: their bytes may
        // differ.
        part =
            wanted.split { !Self.isPlain($0) }.map { Array(String($0).utf8) }.max { $0.count < $1.count }
            ?? []
    }

    /// Returns the parsed line if its message contains the text; nil otherwise.
    func match(_ text: [UInt8]) -> ConversationLine? {
        // A line with an escape such as \u0041 may contain the part in another form, so such a line is parsed
        // too.
        guard part.isEmpty || contains(text) || text[...].firstPosition(of: Self.escape) != nil else {
            return nil
        }
        guard let line = ConversationLine(text), !line.isFilesOnly, contains(line.message) else { return nil }
        return line
    }

    /// Returns whether a character has the same bytes in every matching line, apart from ASCII case.
    private static func isPlain(_ character: Character) -> Bool {
        guard let byte = character.asciiValue else {
            // Outside ASCII, only common Chinese characters are known to have no case and a single encoding.
            let scalars = character.unicodeScalars
            guard let scalar = scalars.first, scalars.count == 1 else { return false }
            return scalar.value >= 0x4E00 && scalar.value <= 0x9FFF
        }
        return byte >= 0x20 && byte < 0x7F && byte != 0x22 && byte != 0x2F && byte != 0x5C
    }

    private static let escape = Array("\\u".utf8)

    /// Returns whether the bytes contain the part, apart from the case of ASCII letters; takes linear time.
    private func contains(_ text: [UInt8]) -> Bool {
        part.isEmpty || text.map(Self.lowercased)[...].firstPosition(of: part) != nil
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
    }

    /// Returns whether a human-readable string in the message, at any depth, contains the wanted text.
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

    /// The members whose strings are identifiers, types, addresses or Base64, and are not searched.
    ///
    /// Objects under these names are searched.
    private static let technical: Set<String> = [
        "id", "type", "sourceId", "destinationId", "v", "version", "bid", "requestIdentifier", "mimeType",
        "identifier", "sessionIdentifier", "imageIdentifier", "style", "url", "key", "signature", "owner",
        "locale", "intent", "group", "data", "payload",
    ]
}
