/// The fields of a query or a form (`application/x-www-form-urlencoded`), in their order.
struct FormFields {
    private(set) var fields: [(name: String, value: String)] = []

    /// Starts an empty form.
    init() {}

    /// Parses a query or a form; throws a defect when the text exceeds a limit or is malformed.
    ///
    /// The limits are `maximumBytes` and `maximumCount` fields. An invalid percent escape, text that is not
    /// UTF-8, and a control character are malformed.
    init(
        parsing text: some Collection<UInt8>, maximumBytes: Int, maximumCount: Int = 32
    ) throws(CallbackDefect) {
        guard text.count <= maximumBytes else { throw .tooLong }
        for part in Array(text).split(separator: UInt8(ascii: "&")) {
            guard fields.count < maximumCount else { throw .tooManyParameters }
            let sign = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
            let name = try decoded(part[..<sign])
            let value = sign < part.endIndex ? try decoded(part[(sign + 1)...]) : ""
            fields.append((name, value))
        }
    }

    /// The value of the field `name`; nil when the field is absent.
    ///
    /// Throws when the field is repeated (RFC 6749 §3.1).
    func single(_ name: String) throws(CallbackDefect) -> String? {
        let values = fields.filter { $0.name == name }
        guard values.count <= 1 else { throw .repeatedParameter }
        return values.first?.value
    }

    mutating func add(_ name: String, _ value: String?) {
        if let value { fields.append((name, value)) }
    }

    /// The encoded form.
    var encoded: String {
        fields.map { percentEncoded($0.name) + "=" + percentEncoded($0.value) }.joined(separator: "&")
    }
}

/// Percent-encodes every byte except letters, digits and `-._~` (RFC 3986 §2.3), which a form may contain
/// unencoded.
func percentEncoded(_ text: String) -> String {
    var result: [UInt8] = []
    for byte in text.utf8 {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: result.append(byte)
        default: result += [0x25, hexadecimalDigit(byte >> 4), hexadecimalDigit(byte & 15)]
        }
    }
    return String(decoding: result, as: UTF8.self)
}

private func hexadecimalDigit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x37 + value }

private func decoded(_ bytes: ArraySlice<UInt8>) throws(CallbackDefect) -> String {
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var rest = bytes
    while let byte = rest.popFirst() {
        switch byte {
        case 0x25:
            guard let high = rest.popFirst().flatMap(hexadecimalValue),
                let low = rest.popFirst().flatMap(hexadecimalValue)
            else { throw .malformedEncoding }
            result.append(high << 4 | low)
        case 0x2B: result.append(0x20)
        default: result.append(byte)
        }
    }
    guard result.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { throw .controlCharacter }
    guard let text = String(validating: result, as: UTF8.self) else { throw .malformedEncoding }
    return text
}

private func hexadecimalValue(_ digit: UInt8) -> UInt8? {
    switch digit {
    case 0x30...0x39: digit - 0x30
    case 0x41...0x46: digit - 0x37
    case 0x61...0x66: digit - 0x57
    default: nil
    }
}
