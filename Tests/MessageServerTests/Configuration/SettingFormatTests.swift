import Testing

@testable import MessageServer

@Suite struct SettingFormatTests {
    @Test(arguments: [
        ("https://example.com", "https://example.com", true, false),
        ("https://example.com/v1//", "https://example.com/v1", true, false),
        ("HTTPS://Example.com:8443/a", "HTTPS://Example.com:8443/a", true, false),
        ("http://127.1.2.3:80", "http://127.1.2.3:80", false, true),
        ("http://[::1]:80/x", "http://[::1]:80/x", false, true),
        ("http://LOCALHOST", "http://LOCALHOST", false, true),
        ("http://localhost.example.com", "http://localhost.example.com", false, false),
        ("http://127.example.com", "http://127.example.com", false, false),
    ])
    func `a web address is parsed`(text: String, read: String, isSecure: Bool, isLoopback: Bool) throws {
        let address = try #require(WebAddress(text))
        #expect(address.text == read)
        #expect(address.isSecure == isSecure)
        #expect(address.isLoopback == isLoopback)
    }

    @Test(arguments: [
        "", "example.com", "ftp://example.com", "https://", "https:///x", "https://:80", "https://a:0",
        "https://a:x",
        "https://a:+1", "https://a:65536", "https://a b", "https://u@a", "https://a?q", "https://a#f",
        "https://[::1",
        "https://[a]", "https://[::1]80", "https://a\\b", "https://\u{fc}.de", "https://a\n",
    ])
    func `an invalid web address is refused`(text: String) {
        #expect(WebAddress(text) == nil)
    }

    @Test(arguments: [
        ("apple.com", "apple.com"), ("ICloud-Content.com", "icloud-content.com"),
        ("127.0.0.1:9000", "127.0.0.1:9000"),
        ("[::1]:9000", "[::1]:9000"), ("a.b.c", "a.b.c"), ("apple.com.", "apple.com."),
    ])
    func `a download host is a suffix or a loopback address with its port`(text: String, host: String) throws
    {
        #expect(try SettingFormat.downloadHost(text) == host)
    }

    @Test(arguments: [
        "", "com", ".com", "a.0x7f", "*.apple.com", "-a.com", "a-.com", "apple.com:443", "10.0.0.1:0",
        "10.0.0.1",
        "127.0.0.1", "127.0.0.1:0", "a..b", "https://apple.com", "unix:/x.y", "a.1",
    ])
    func `an invalid download host is refused`(text: String) {
        #expect(throws: InvalidSetting.self) { try SettingFormat.downloadHost(text) }
    }

    @Test(arguments: [
        ("listen", "listen"), ("Listen", "listen"), ("lsiten", "listen"), ("mspid", "mspID"),
        ("dataDir", nil),
        ("", nil), ("xxxxxx", nil), (String(repeating: "x", count: 101), nil),
    ])
    func `a typing error finds the most similar key`(text: String, key: String?) {
        #expect(nearestSpelling(to: text, among: ["mspID", "listen", "publicURL", "dataDirectory"]) == key)
    }

    @Test(arguments: ["a", String(repeating: "a", count: 64), "a-1"])
    func `a valid slug is accepted`(text: String) throws {
        #expect(try SettingFormat.slug(text) == text)
    }

    @Test(arguments: ["", String(repeating: "a", count: 65), "A", "a_b", "a.b", "\u{e4}", "a/b"])
    func `an invalid slug is refused`(text: String) {
        #expect(throws: InvalidSetting.self) { try SettingFormat.slug(text) }
    }
}
