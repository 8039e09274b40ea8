import BalloonJSON

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
        fields.map { $0.name.percentEncoded + "=" + $0.value.percentEncoded }.joined(separator: "&")
    }
}

private func decoded(_ bytes: ArraySlice<UInt8>) throws(CallbackDefect) -> String {
    guard let result = bytes.percentDecoded(plusIsSpace: true) else { throw .malformedEncoding }
    guard result.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { throw .controlCharacter }
    guard let text = String(validating: result, as: UTF8.self) else { throw .malformedEncoding }
    return text
}
