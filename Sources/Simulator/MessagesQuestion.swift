import BusinessMessages

/// The query of `GET /_simulator/messages`: `customer`, `after` (a number) and `wait` (seconds), all
/// optional.
struct MessagesQuestion: Sendable {
    /// The longest wait in seconds; a longer `wait` is shortened to it.
    static let maximumSeconds = 60.0

    var customer: CustomerID?
    var after = 0
    var wait = Duration.zero

    init(query: ArraySlice<UInt8>) {
        for pair in query.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count == 2 ? percentDecoded(parts[1]) : ""
            switch String(decoding: parts[0], as: UTF8.self) {
            case "customer": customer = value.isEmpty ? nil : CustomerID(value)
            case "after": after = Int(value) ?? 0
            case "wait":
                guard let seconds = Double(value), seconds > 0 else { continue }
                wait = .seconds(min(seconds, Self.maximumSeconds))
            default: break
            }
        }
    }

    init(customer: CustomerID?, after: Int, wait: Duration) {
        self.customer = customer
        self.after = after
        self.wait = wait
    }

    /// The query, without `?`.
    var query: String {
        let customer = customer.map { "customer=\(percentEncoded($0.rawValue))&" } ?? ""
        return customer + "after=\(after)&wait=\(wait / .seconds(1))"
    }
}

/// Decodes percent-encoded text (RFC 3986 §2.1); a plus sign stands for itself, because customers' identities
/// contain plus signs.
private func percentDecoded(_ text: ArraySlice<UInt8>) -> String {
    var decoded: [UInt8] = []
    var rest = text
    while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "%"), rest.count >= 2,
            let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
        {
            decoded.append(value)
            rest.removeFirst(2)
        } else {
            decoded.append(byte)
        }
    }
    return String(decoding: decoded, as: UTF8.self)
}

/// Percent-encodes every byte except the unreserved characters (RFC 3986 §2.3).
private func percentEncoded(_ text: String) -> String {
    var encoded = ""
    for byte in text.utf8 {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            encoded.unicodeScalars.append(Unicode.Scalar(byte))
        default: encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }
    }
    return encoded
}
