import BalloonPOSIX
import BusinessMessages

/// A search for text in the lines of conversations; it ignores the difference of upper and lower case.
struct TextSearch: Sendable {
    /// The text in small letters.
    let wanted: String
    /// The longest part of the text whose bytes are the same in every matching line, apart from ASCII case.
    private let part: [UInt8]
    /// The scalars that two parts of a string share; an equivalent spelling has at most four times as many as the
    /// wanted text.
    private let overlap: Int

    init(_ text: String) {
        wanted = text.lowercased()
        overlap = 4 * wanted.unicodeScalars.count
        // Exclude characters that JSON may escape, and letters with case outside ASCII: their bytes may
        // differ.
        part =
            wanted.split { !Self.isPlain($0) }.map { Array(String($0).utf8) }.max { $0.count < $1.count }
            ?? []
    }

    /// The time of a search was used up within a line.
    struct Interrupted: Error {}

    /// Returns the parsed line if its message contains the text; nil otherwise.
    ///
    /// Calls `isLate` before each part of the message, and throws when it returns true.
    func match(
        _ text: [UInt8], isLate: () -> Bool = { false }
    ) throws(Interrupted) -> ConversationLine? {
        // A line with an escape such as \u0041 may contain the part in another form, so such a line is parsed
        // too.
        guard part.isEmpty || contains(text) || text[...].firstPosition(of: Self.escape) != nil else {
            return nil
        }
        // A removed name or tag is no match; the present ones are in the details of the customer.
        guard let line = ConversationLine(text), !line.isFilesOnly,
            line.direction != .internal || line.message["type"]?.equals("note") == true
        else { return nil }
        return try contains(line.message, isLate) ? line : nil
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
    private func contains(_ value: JSONValue, _ isLate: () -> Bool) throws(Interrupted) -> Bool {
        switch value.kind {
        case .string:
            guard let string = value.string else { return false }
            return try contains(string, isLate)
        case .array:
            for element in value.elements where try contains(element, isLate) { return true }
        case .object:
            var members = value.members
            while let (name, member) = members.nextWithBytes() {
                if isLate() { throw Interrupted() }
                // A long name is never hashed; see `textBytes`.
                if member.kind == .string, name.count < 64,
                    Self.technical.contains(String(decoding: name, as: UTF8.self))
                {
                    continue
                }
                if try contains(member, isLate) { return true }
            }
        case .number, .boolean, .null: break
        }
        return false
    }

    /// Searches a string in parts, because the comparison of characters takes long: about a second for 10 MB.
    ///
    /// Each part begins with the end of the part before it, so that no occurrence is cut.
    private func contains(_ string: String, _ isLate: () -> Bool) throws(Interrupted) -> Bool {
        var scalars = string.unicodeScalars[...]
        while true {
            if isLate() { throw Interrupted() }
            let part = scalars.prefix(Self.partScalars + overlap)
            if String(part).lowercased().contains(wanted) { return true }
            if part.endIndex == scalars.endIndex { return false }
            scalars = scalars.dropFirst(Self.partScalars)
        }
    }

    /// The scalars of a string after which the time is checked again.
    private static let partScalars = 4096

    /// The members whose strings are identifiers, types, addresses or Base64, and are not searched.
    ///
    /// Objects under these names are searched.
    private static let technical: Set<String> = [
        "id", "type", "sourceId", "destinationId", "v", "version", "bid", "requestIdentifier", "mimeType",
        "identifier", "sessionIdentifier", "imageIdentifier", "style", "url", "key", "signature", "owner",
        "locale", "intent", "group", "data", "payload",
    ]
}
