extension HTTPRoute {
    /// The same route, but with 403 for requests that a web page of another site could have sent.
    ///
    /// With DNS rebinding, an attacker's page reaches a loopback address through a host name that resolves to
    /// `127.0.0.1`; `Host` then has the attacker's name. A form or script that names the address itself sends
    /// a foreign `Origin`. Therefore `Host` must be `localhost` or a loopback address. If there is an
    /// `Origin`, it must be `http://` or `https://` followed by the same host and port.
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
        // `Host` may be missing only in HTTP/1.0, which browsers do not send.
        let host = field(HTTPFieldName("host")).map { String(decoding: $0, as: UTF8.self).lowercased() }
        if let host, !isLocal(host) { return false }
        guard let origin = field(HTTPFieldName("origin")) else { return true }
        guard let host else { return false }
        return ["http://", "https://"].contains {
            String(decoding: origin, as: UTF8.self).lowercased() == $0 + host
        }
    }
}

/// Returns whether `host[:port]` is `localhost` or a loopback address; the parser has checked its form.
private func isLocal(_ host: String) -> Bool {
    if host.hasPrefix("[") { return host.hasPrefix("[::1]") }
    let name = host.prefix { $0 != ":" }
    guard name != "localhost" else { return true }
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
}
