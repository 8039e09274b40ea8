/// A request method that this server supports (RFC 9110 §9.3, RFC 5789).
package enum HTTPMethod: String, Sendable, CaseIterable {
    case get = "GET"
    case head = "HEAD"
    case post = "POST"
    case put = "PUT"
    case patch = "PATCH"
    case delete = "DELETE"
    case options = "OPTIONS"

    /// Parses the exact spelling in `bytes[start..<end]`; methods are case-sensitive (RFC 9110 §9.1).
    init?(_ bytes: [UInt8], _ start: Int, _ end: Int) {
        // Method names have at most seven bytes, so that they fit into a word and compare quickly.
        guard end - start <= 7 else { return nil }
        var word: UInt64 = 0
        for index in start..<end { word = word << 8 | UInt64(bytes[index]) }
        switch word {
        case 0x504F5354: self = .post
        case 0x474554: self = .get
        case 0x48454144: self = .head
        case 0x505554: self = .put
        case 0x50_4154_4348: self = .patch
        case 0x4445_4C45_5445: self = .delete
        case 0x4F_5054_494F_4E53: self = .options
        default: return nil
        }
    }
}
