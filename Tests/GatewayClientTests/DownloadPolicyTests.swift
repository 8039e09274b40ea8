import Testing

@testable import GatewayClient

@Suite struct DownloadPolicyTests {
    private let policy = DownloadPolicy(hosts: [
        "icloud-content.com", "icloud.com", "Apple.com.", "127.0.0.1:9000", "[::1]:9001",
    ])

    private func check(_ url: String) -> Result<String, DownloadRefusal> {
        Result { () throws(DownloadRefusal) in try policy.check(url).url }
    }

    @Test(arguments: [
        ("https://icloud.com/a/b?c=d&e=%20", "https://icloud.com/a/b?c=d&e=%20"),
        ("https://p61-content.icloud.com", "https://p61-content.icloud.com/"),
        ("https://cvws.icloud-content.com:443/B/x", "https://cvws.icloud-content.com/B/x"),
        ("HTTPS://P61.iCloud.COM./x", "https://p61.icloud.com/x"),
        ("https://apple.com?x", "https://apple.com/?x"),
        ("http://127.0.0.1:9000/blob/1", "http://127.0.0.1:9000/blob/1"),
        ("http://[::1]:9001/blob/1", "http://[::1]:9001/blob/1"),
    ])
    func `a listed address is allowed and rebuilt from its parts`(url: String, fetched: String) throws {
        let address = try policy.check(url)
        #expect(address.url == fetched)
        #expect(address.isPlainHTTP == fetched.hasPrefix("http:"))
        #expect(address.isLiteral == address.isPlainHTTP)
    }

    @Test(arguments: [
        // Names that only look like a listed name.
        ("https://evilapple.com/", DownloadRefusal.host), ("https://apple.com.evil.example/", .host),
        ("https://evil.example/apple.com", .host), ("https://evil.example?apple.com", .host),
        ("https://xn--pple-43d.com/", .host), ("https://apple/", .host), ("https://com/", .host),
        ("https://.apple.com/", .host), ("https://-.apple.com/", .host), ("https://a..apple.com/", .host),
        ("https://apple.com../", .host), ("https://a%2eapple.com/", .host), ("https://a_b.apple.com/", .host),
        ("https://\(String(repeating: "a", count: 64)).apple.com/", .host),
        // IP addresses in every spelling.
        ("https://127.0.0.1/", .host), ("https://127.0.0.1:9000/", .host), ("https://[::1]:9001/", .host),
        ("https://2130706433/", .host), ("https://0x7f.1/", .host), ("https://0177.0.0.1/", .host),
        ("https://169.254.169.254/latest", .host), ("https://[fd00::1]/", .host),
        ("https://[::ffff:127.0.0.1]/", .host), ("https://localhost/", .host),
        // Plain http is allowed for listed addresses only.
        ("http://127.0.0.1:9001/", .host), ("http://127.0.0.1/", .host), ("http://127.0.0.2:9000/", .host),
        ("http://localhost:9000/", .host), ("http://127.1:9000/", .host), ("http://2130706433:9000/", .host),
        ("http://0177.0.0.1:9000/", .host), ("http://0x7f000001:9000/", .host), ("http://[::1]:9000/", .host),
        ("http://[0:0:0:0:0:0:0:1]:9001/", .host), ("http://[::ffff:127.0.0.1]:9000/", .host),
        ("http://apple.com/", .host), ("http://apple.com:80/", .host), ("http://icloud.com:9000/", .host),
        // URLs with a user name or a password.
        ("https://apple.com@evil.example/", .userInformation),
        ("https://evil.example@apple.com/", .userInformation),
        ("https://a:b@apple.com/", .userInformation), ("http://x@127.0.0.1:9000/", .userInformation),
        // Other ports, and malformed ones.
        ("https://apple.com:22/", .port), ("https://apple.com:80/", .port),
        ("https://apple.com:0/", .malformed),
        ("https://apple.com:/", .malformed), ("https://apple.com:443x/", .malformed),
        ("https://apple.com:+443/", .malformed), ("https://apple.com:65979/", .malformed),
        ("https://apple.com:443:443/", .malformed), ("https://[::1/", .host), ("https://[::1]x/", .malformed),
        // Other schemes, and texts without a complete scheme.
        ("file:///etc/passwd", .malformed), ("file://apple.com/etc/passwd", .scheme),
        ("ftp://apple.com/", .scheme),
        ("gopher://apple.com/", .scheme), ("https:apple.com", .malformed), ("https:/apple.com/", .malformed),
        ("//apple.com/", .malformed), ("/etc/passwd", .malformed), ("apple.com", .malformed),
        ("", .malformed),
        ("https://", .malformed), ("https:///x", .malformed), ("https://:443/", .malformed),
        (" https://apple.com/", .malformed),
        // Characters that URL parsers treat differently.
        ("https://apple.com\\@evil.example/", .malformed), ("https://evil.example#@apple.com/", .malformed),
        ("https://apple.com/#x", .malformed), ("https://apple.com/\r\nHost: x", .malformed),
        ("https://apple.com/ x", .malformed), ("https://apple.com/\t", .malformed),
        ("https://apple\u{3002}com/", .malformed), ("https://ａpple.com/", .malformed),
        ("https://apple.com/\u{7f}", .malformed),
        ("https://apple.com/\(String(repeating: "x", count: 9000))", .malformed),
    ])
    func `an address that is malformed or not listed is refused`(url: String, refusal: DownloadRefusal) {
        #expect(check(url) == .failure(refusal))
    }

    @Test(arguments: [
        "apple.com", "cdn.example.org", "127.0.0.1:1", "[::1]:65535", "127.9.9.9:80", "10.0.0.1:80",
        "[fd00::1]:80",
    ])
    func `an entry of the download list is a host suffix or a literal address with a port`(entry: String) {
        #expect(DownloadPolicy.isEntry(entry))
    }

    @Test(arguments: [
        "", "com", "*.apple.com", ".apple.com", "apple.com:443", "https://apple.com", "apple.com/",
        "localhost",
        "localhost:9000", "127.0.0.1", "10.0.0.1", "[::1]", "::1", "10.0.0.1:0", "unix:/x",
        ":80",
        "127.1:80", "a b.com",
    ])
    func `an invalid entry of the download list allows no address`(entry: String) {
        #expect(!DownloadPolicy.isEntry(entry))
        let policy = DownloadPolicy(hosts: [entry])
        for url in ["https://\(entry)/", "http://\(entry)/", "https://a.com/"] {
            #expect(throws: DownloadRefusal.self) { try policy.check(url) }
        }
    }

    @Test func `a listed literal address is allowed, private or not, and allows no other`() throws {
        let policy = DownloadPolicy(hosts: ["10.0.0.7:8443", "[fd00::1]:443"])
        for url in ["https://10.0.0.7:8443/x", "https://[fd00::1]:443/x"] {
            #expect(try policy.check(url) == DownloadAddress(url: url, isPlainHTTP: false, isLiteral: true))
        }
        #expect(try policy.check("https://[fd00::1]/x").url == "https://[fd00::1]:443/x")
        for url in [
            "http://10.0.0.7:8443/x", "https://10.0.0.7/x", "https://10.0.0.8:8443/",
            "https://167772167:8443/",
            "https://10.7:8443/", "https://012.0.0.7:8443/", "https://[::ffff:10.0.0.7]:8443/",
            "https://a@10.0.0.7:8443/",
        ] { #expect(throws: DownloadRefusal.self) { try policy.check(url) } }
    }

    @Test func `the default download list has Apple's hosts`() throws {
        let policy = DownloadPolicy(hosts: GatewayConfiguration.defaultDownloadHosts)
        for host in ["p61-content.icloud.com", "cvws.icloud-content.com", "mmcs.apple.com"] {
            #expect(try policy.check("https://\(host)/x").url == "https://\(host)/x")
        }
    }
}
