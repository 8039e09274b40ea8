extension HTTPRoute {
    /// The same route, which refuses requests that a web page of another site could have sent: 403.
    ///
    /// A page of an attacker reaches a loopback address under a name of the attacker's, which resolves to
    /// `127.0.0.1` (DNS rebinding): `Host` then has that name. A form or script that names the address itself has
    /// a foreign `Origin`. So `Host` must be a name of this machine, and `Origin`, where a browser sends it, must
    /// be `http://` or `https://` and the same host and port.
    package var forLocalCallers: HTTPRoute {
        replacingHandlers { [makeHandlers] shard in
            let handlers = makeHandlers(shard)
            return Handlers(
                admit: { head in
                    guard head.isFromThisMachine else {
                        return .refused(
                            HTTPResponse(.forbidden, text: "Host or Origin does not name this machine\n"))
                    }
                    return handlers.admit?(head) ?? .admitted
                }, handle: handlers.handle)
        }
    }
}

extension HTTPRequest {
    /// Whether `Host` and `Origin` show that a local program or a page of this server sent the request.
    fileprivate var isFromThisMachine: Bool {
        // Only HTTP/1.0 allows a request without `Host`, and no browser sends that.
        let host = field(HTTPFieldName("host")).map { String(decoding: $0, as: UTF8.self).lowercased() }
        if let host, !isLocal(host) { return false }
        guard let origin = field(HTTPFieldName("origin")) else { return true }
        guard let host else { return false }
        return ["http://", "https://"].contains {
            String(decoding: origin, as: UTF8.self).lowercased() == $0 + host
        }
    }
}

/// Whether `host[:port]` is `localhost` or a loopback address; the parser accepts valid hosts only.
private func isLocal(_ host: String) -> Bool {
    if host.hasPrefix("[") { return host.hasPrefix("[::1]") }
    let name = host.prefix { $0 != ":" }
    guard name != "localhost" else { return true }
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
}
