/// The kinds of content that the customer's device can show; a business must not send other kinds.
///
/// Parsed from the header `capability-list`: `QUICK,LIST,TIME,AUTH,AUTH2,FORM` in either case (Apple MSP API,
/// "HTTP Headers"), possibly percent-encoded. Unknown tokens are kept. Apple Pay and rich links need no
/// capability.
public struct Capabilities: Hashable, Sendable {
    /// Each token once, in the header's order.
    public let tokens: [Capability]

    /// Creates capabilities without duplicates.
    public init(_ tokens: [Capability] = []) {
        var seen: Set<Capability> = []
        self.tokens = tokens.filter { seen.insert($0).inserted }
    }

    /// Parses a header's value.
    public init(parsing list: String) {
        let tokens = list.percentDecoded.split(separator: ",").map { $0.trimmed }
        self.init(tokens.filter { !$0.isEmpty }.map { Capability(rawValue: String($0)) })
    }

    /// Whether the device can show `capability`.
    public func contains(_ capability: Capability) -> Bool { tokens.contains(capability) }
}

extension Capabilities: ExpressibleByArrayLiteral {
    /// Creates capabilities without duplicates.
    public init(arrayLiteral elements: Capability...) { self.init(elements) }
}

extension Capabilities: CustomStringConvertible {
    /// The capabilities as a header's value without percent-encoding, which ``init(parsing:)`` reads back.
    public var description: String { tokens.map(\.rawValue).joined(separator: ",") }
}
