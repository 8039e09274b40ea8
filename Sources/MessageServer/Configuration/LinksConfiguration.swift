package import BusinessMessages

/// Which addresses in handlers' words become links, `links` in a business's file.
///
/// ```json
/// { "hosts": { "shop.example.com": { "title": "Sam's Fish", "image": "fish.png" } } }
/// ```
package struct LinksConfiguration: Sendable {
    /// The hosts by name, in small letters.
    package var hosts: [String: LinkHost] = [:]

    /// The maximum number of hosts.
    private static let maximumHosts = 100

    /// Creates a configuration without hosts.
    package init() {}

    static func read(_ reader: inout ObjectReader) -> LinksConfiguration {
        var links = LinksConfiguration()
        _ = reader.object("hosts") { reader in
            for name in reader.names.prefix(maximumHosts) {
                guard LinkHost.host(of: "https://\(name)/") == name, name.contains(".") else { continue }
                links.hosts[name] = reader.object(name) { LinkHost.read(&$0) }
            }
            return ()
        }
        return links
    }
}

/// The title and the image of a link to a page of a host when the page itself does not answer.
package struct LinkHost: Sendable {
    /// The title; nil for the name of the host.
    package var title: String?
    /// The image of the bubble.
    package var image: RichLink.Image?

    static func read(_ reader: inout ObjectReader) -> LinkHost {
        var host = LinkHost()
        host.title = reader.customerText("title")
        host.image = OpeningConfiguration.image(&reader)
        return host
    }

    /// The host of an absolute address in small letters; nil without one, with a user, and with another port than 443.
    static func host(of url: String) -> String? {
        let lowered = url.lowercased()
        guard let scheme = ["https://", "http://"].first(where: lowered.hasPrefix) else { return nil }
        let authority = lowered.dropFirst(scheme.count).prefix { !"/?#\\".contains($0) }
        let host = authority.hasSuffix(":443") ? authority.dropLast(4) : authority
        let isName = host.utf8.allSatisfy {
            (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) || $0 == 0x2D || $0 == 0x2E
        }
        return isName && !host.isEmpty ? String(host) : nil
    }

    /// Returns an address of a page as an absolute one; nil when it is neither absolute nor begins with a slash.
    static func absolute(_ address: String, on page: String) -> String? {
        if address.hasPrefix("//") { return "https:" + address }
        guard address.hasPrefix("/") else { return host(of: address) == nil ? nil : address }
        return host(of: page).map { "https://" + $0 + address }
    }

    /// Returns an image if the bytes begin as those of a PNG or JPEG file.
    static func image(_ bytes: [UInt8]) -> RichLink.Image? {
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]) {
            return RichLink.Image(bytes: bytes, mimeType: "image/png")
        }
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
            return RichLink.Image(bytes: bytes, mimeType: "image/jpeg")
        }
        return nil
    }
}
