import BusinessMessages

/// The query of `GET /_simulator/messages`: `customer`, `after` (a number) and `wait` (seconds), all
/// optional.
struct MessagesQuestion: Sendable {
    /// The longest wait in seconds; a longer `wait` is shortened to it.
    static let maximumSeconds = 60.0

    var customer: CustomerID?
    var after = 0
    var wait = Duration.zero

    /// The query, without `?`.
    var query: String {
        let customer = customer.map { "customer=\($0.rawValue.percentEncoded)&" } ?? ""
        return customer + "after=\(after)&wait=\(wait / .seconds(1))"
    }
}

extension MessagesQuestion {
    /// Parses a query; ignores unknown and malformed parameters.
    init(query: ArraySlice<UInt8>) {
        for pair in query.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            // A plus sign stands for itself, because customers' identities contain plus signs.
            let value = parts.count == 2 ? String(decoding: parts[1], as: UTF8.self).percentDecoded : ""
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
}
