/// Whether a provider's address may be called: https, or http on a loopback address when that is allowed.
///
/// The address has a host and at most 2,048 bytes of printable ASCII. User information, a fragment and a
/// backslash are refused.
package func isProviderAddress(_ url: String, allowsLoopback: Bool) -> Bool {
    let refused = Set("\\#\"<>^`{|}".utf8)
    guard url.utf8.count <= 2048,
        url.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !refused.contains($0) })
    else { return false }
    let authority: Substring
    if url.hasPrefix("https://") {
        authority = url.dropFirst("https://".count).prefix { $0 != "/" && $0 != "?" }
        return !authority.isEmpty && !authority.hasPrefix(":") && !authority.contains("@")
    }
    guard allowsLoopback, url.hasPrefix("http://") else { return false }
    authority = url.dropFirst("http://".count).prefix { $0 != "/" && $0 != "?" }
    return isLoopback(authority)
}

/// Whether the host of an authority is `127.0.0.1`, `[::1]` or `localhost`, with any port.
private func isLoopback(_ authority: Substring) -> Bool {
    ["127.0.0.1", "[::1]", "localhost"].contains { host in
        guard authority.hasPrefix(host) else { return false }
        let rest = authority.dropFirst(host.count)
        return rest.isEmpty || (rest.first == ":" && UInt16(rest.dropFirst()) != nil)
    }
}
