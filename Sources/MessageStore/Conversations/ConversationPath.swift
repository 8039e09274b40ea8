import BalloonWire
import BusinessMessages

/// The path of a conversation's file, below the folder of all conversations.
///
/// `<business>/<2 hex>/<64 hex>.jsonl`: the hexadecimal SHA-256 of the customer id and its first two digits.
/// `<business>` is the business id where it is a valid file name, otherwise `x-` and its SHA-256.
enum ConversationPath {
    /// The folder of a conversation's file: `<business>/<2 hex>`.
    static func directory(_ key: ConversationKey) -> String {
        business(key.business) + "/" + hash(key.customer.rawValue).prefix(2)
    }

    /// The path of a conversation's file: `<business>/<2 hex>/<64 hex>.jsonl`.
    static func file(_ key: ConversationKey) -> String {
        business(key.business) + "/" + file(of: key.customer)
    }

    /// `<64 hex>`: the name of the file without its folder and extension.
    static func name(of customer: CustomerID) -> String { hash(customer.rawValue) }

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

    /// Returns the first eight bytes of the hash in the file's name, big-endian; the first names the folder.
    static func digest(of customer: CustomerID) -> UInt64 {
        var hash = SHA256()
        hash.update(customer.rawValue.utf8Span.span)
        let digest = hash.finish()
        return (0..<8).reduce(0) { $0 << 8 | UInt64(digest[$1]) }
    }

    /// The folder of a business.
    static func business(_ id: BusinessID) -> String {
        let text = id.rawValue
        let isName = (1...100).contains(text.utf8.count) && text.utf8.allSatisfy(isNameByte)
        return isName && !text.hasPrefix(".") && !text.hasPrefix("x-") ? text : "x-" + hash(text)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    private static func hash(_ text: String) -> String {
        Hex.encode(SHA256.hash(text.utf8))
    }
}
