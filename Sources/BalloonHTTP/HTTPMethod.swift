/// A request method that this server knows (RFC 9110 §9.3, RFC 5789).
package enum HTTPMethod: String, Sendable, CaseIterable {
    case get = "GET"
    case head = "HEAD"
    case post = "POST"
    case put = "PUT"
    case patch = "PATCH"
    case delete = "DELETE"
    case options = "OPTIONS"

    /// Reads a method's exact spelling; methods are case-sensitive (RFC 9110 §9.1).
    init?(_ bytes: ArraySlice<UInt8>) {
        // The two that matter for speed first.
        if bytes.elementsEqual("POST".utf8) {
            self = .post
        } else if bytes.elementsEqual("GET".utf8) {
            self = .get
        } else if let method = Self.allCases.first(where: { bytes.elementsEqual($0.rawValue.utf8) }) {
            self = method
        } else {
            return nil
        }
    }

    /// Whether a request with this method is expected to bring a body.
    var expectsBody: Bool { self == .post || self == .put || self == .patch }
}
