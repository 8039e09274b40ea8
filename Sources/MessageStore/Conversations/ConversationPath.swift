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
    static func file(of customer: CustomerID) -> String {
        let name = name(of: customer)
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
        let isName = (1...100).contains(text.utf8.count) && text.utf8.allSatisfy(isNameByte)
        if isName, !text.hasPrefix("."), !text.hasPrefix("x-") { return text }
        return "x-" + Hex.encode(SHA256.hash(text.utf8))
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
