/// The header of one request, as offsets into the bytes that it was parsed from.
struct RequestHead: Sendable, Hashable {
    var method = HTTPMethod.get
    /// The path of the target; all offsets of the head count from the request's first byte.
    var path: Range<UInt32> = 0..<0
    /// The query of the target, without `?`.
    var query: Range<UInt32>?
    /// Whether the target is `*` (RFC 9112 §3.2.4).
    var isAsterisk = false
    var minorVersion: UInt8 = 1
    var fields: [HTTPField] = []
    var framing = BodyFraming.none
    /// Whether the connection may be used again after this request (RFC 9112 §9.3).
    var isPersistent = true
    /// Whether the client waits for `100 Continue` before it sends the body (RFC 9110 §10.1.1).
    var expectsContinue = false
    /// The number of bytes from the request's first byte to the end of the empty line.
    var length = 0

    /// Clears the head and keeps its storage.
    mutating func reset() {
        method = .get
        path = 0..<0
        query = nil
        isAsterisk = false
        minorVersion = 1
        // When a handler has kept the request, the storage is shared, and this call allocates new storage.
        fields.removeAll(keepingCapacity: true)
        framing = .none
        isPersistent = true
        expectsContinue = false
        length = 0
    }
}

/// The rule that determines the end of a request's body (RFC 9112 §6.3).
enum BodyFraming: Sendable, Hashable {
    case none
    case length(Int)
    case chunked
}
