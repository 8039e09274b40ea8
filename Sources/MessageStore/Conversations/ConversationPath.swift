import BalloonJSON
import BalloonWire
import BusinessMessages

/// The path of a conversation's file, below the folder of all conversations.
///
/// `<business>/<2 hex>/<64 hex>.jsonl`: the hexadecimal SHA-256 of the customer id and its first two digits.
/// `<business>` is the business id where it is a valid file name, otherwise `x-` and its SHA-256.
enum ConversationPath {
    /// The path of a conversation's file: `<business>/<2 hex>/<64 hex>.jsonl`.
    static func file(_ key: ConversationKey) -> String {
        business(key.business) + "/" + file(of: key.customer)
    }

    /// `<64 hex>`: the name of the file without its folder and extension.
    static func name(of customer: CustomerID) -> String { ConversationDigest(of: customer).hexadecimal }

    /// `<2 hex>/<64 hex>.jsonl`, below the folder of a business.
    static func file(of customer: CustomerID) -> String { file(of: ConversationDigest(of: customer)) }

    /// `<2 hex>/<64 hex>.jsonl`, for the digest of a customer.
    static func file(of digest: ConversationDigest) -> String {
        let name = digest.hexadecimal
        return name.prefix(2) + "/" + name + ".jsonl"
    }

    /// The path of a handler's state below the folder of all states: `<business>/<2 hex>/<64 hex>.json`.
    static func state(_ key: ConversationKey) -> String { String(file(key).dropLast()) }

    /// Whether the path is one of this customer's conversations.
    static func holds(_ path: String, _ customer: CustomerID) -> Bool {
        path.hasSuffix("/" + file(of: customer))
    }

    /// The folder of a business.
    static func business(_ id: BusinessID) -> String {
        let text = id.rawValue
        let isName =
            (1...100).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0.isDigit || $0.isLetter || "._-".utf8.contains($0) }
        if isName, !text.hasPrefix("."), !text.hasPrefix("x-") { return text }
        return "x-" + Hex.encode(SHA256.hash(text.utf8))
    }
}
