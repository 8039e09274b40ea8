import BalloonWire
import BusinessMessages

/// The paths of conversations, computed independently of the store.
enum ConversationFixture {
    /// `<business>/<2 hex>/<sha256>.jsonl`, for a business whose id is a valid file name.
    static func path(_ business: BusinessID, _ customer: CustomerID) -> String {
        let hash = Hex.encode(SHA256.hash(Array(customer.rawValue.utf8)))
        return "\(business.rawValue)/\(hash.prefix(2))/\(hash).jsonl"
    }
}
