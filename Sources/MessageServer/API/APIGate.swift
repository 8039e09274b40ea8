import BalloonHTTP
import BalloonPOSIX
import BalloonWire
import BusinessMessages

/// A business that the API serves.
struct APIBusiness: Sendable, Hashable {
    let slug: String
    let id: BusinessID
    /// The display name.
    let name: String
}

/// Decides from a request's head whether the request is admitted; the functions have no state.
enum APIGate {
    /// Returns the configured token that `Authorization` contains; throws `unauthenticated` when it contains
    /// none.
    ///
    /// Every configured token is compared in constant time. The duration therefore reveals neither the
    /// matching token nor the number of correct bytes.
    static func token(
        in authorization: ArraySlice<UInt8>?, isRepeated: Bool, among tokens: [APIToken]
    ) throws(APIProblem) -> APIToken {
        guard let authorization else {
            throw unauthenticated("the request has no Authorization field", isInvalid: false)
        }
        guard !isRepeated else {
            throw unauthenticated("the request has several Authorization fields", isInvalid: true)
        }
        guard let given = bearerToken(authorization) else {
            throw unauthenticated("Authorization does not begin with Bearer", isInvalid: false)
        }
        let digest = SHA256.hash(given)
        var found: APIToken?
        for token in tokens where constantTimeEquals(token.digest, digest) { found = token }
        guard let found else { throw unauthenticated("the token is unknown", isInvalid: true) }
        return found
    }

    /// The problem `unauthenticated` with a `WWW-Authenticate` challenge (RFC 6750 §3).
    private static func unauthenticated(_ detail: String, isInvalid: Bool) -> APIProblem {
        let error = isInvalid ? ", error=\"invalid_token\"" : ""
        return APIProblem(.unauthenticated, detail)
            .field("WWW-Authenticate", "Bearer realm=\"balloon\"" + error)
    }

    /// Whether the header field `Host` names the listener or one of the configured names.
    ///
    /// With DNS rebinding, an attacker's web page reaches the listener under a domain of the attacker that
    /// resolves to the listener's address. Therefore only configured domain names are accepted. `localhost`
    /// and loopback addresses name a loopback listener. Every IP address names a listener on all addresses.
    static func isOwn(host: String?, listener: SocketAddress?, isSecure: Bool, names: [String]) -> Bool {
        guard let host = host?.lowercased(), !host.isEmpty else { return false }
        if names.contains(host) { return true }
        guard let listener else { return false }
        guard case .tcp(let address, let port) = listener else { return host == "localhost" }
        let defaultPort: UInt16 = isSecure ? 443 : 80
        let named = SocketAddress(host) ?? SocketAddress("\(host):\(defaultPort)")
        // `named` is nil for every domain name except localhost. An empty host would be parsed as the address
        // of all interfaces.
        guard !host.hasPrefix(":"), case .tcp(let namedAddress, let namedPort)? = named, namedPort == port
        else { return false }
        if address == "0.0.0.0" || address == "::" { return true }
        return namedAddress == address || listener.isLoopback && (named?.isLoopback ?? false)
    }
}

extension APIToken {
    /// Whether the token may name a business; a token without a list of businesses may name all.
    func mayName(_ slug: String) -> Bool { businesses?.contains(slug) ?? true }
}

extension HTTPRequest {
    /// The value of a header field as text; nil when the request has no such field.
    func text(_ name: HTTPFieldName) -> String? { field(name).map { String(decoding: $0, as: UTF8.self) } }
}

extension HTTPFieldName {
    static let acceptEncoding = HTTPFieldName("accept-encoding")
    static let contentType = HTTPFieldName("content-type")
    static let host = HTTPFieldName("host")
    static let ifNoneMatch = HTTPFieldName("if-none-match")
    static let origin = HTTPFieldName("origin")
}
