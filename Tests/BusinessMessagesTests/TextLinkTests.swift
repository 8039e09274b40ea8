import BalloonJSON
import BusinessMessages
import Testing

/// Web addresses in texts, and texts that become words and links.
struct TextLinkTests {
    @Test(arguments: [
        ("See https://a.example/b, please.", ["https://a.example/b"]),
        (
            "(https://a.example/b_(c)) and HTTP://B.example/?q=1!",
            ["https://a.example/b_(c)", "HTTP://B.example/?q=1"]
        ),
        ("www.a.example and Www.b.example/x.", ["https://www.a.example", "https://Www.b.example/x"]),
        ("shop.example/x, x.shop.example, shop.example.org", ["https://shop.example/x"]),
        ("Write to ana@shop.example or ana@www.a.example.", []),
        ("shop.example. Shop.example? myshop.example", ["https://shop.example", "https://Shop.example"]),
        (
            "https://a.example/straße and https://a.example/x。",
            ["https://a.example/stra%C3%9Fe", "https://a.example/x"]
        ),
        ("https:// and http://", []), ("No. 5: fish.", []), ("<https://a.example>", ["https://a.example"]),
        ("\u{FFFC}https://a.example\u{FFFC}", ["https://a.example"]), ("", []),
        ("https://a.example/\u{202E}x", ["https://a.example/"]),
    ])
    func `addresses are found without the punctuation around them`(_ text: String, _ urls: [String]) {
        #expect(text.webLinks(hosts: ["shop.example"]).map(\.url) == urls)
    }

    private func split(_ text: String, maximum: Int = 3) -> [String]? {
        OutboundMessage.text(text).splitAtLinks(hosts: ["shop.example"], maximum: maximum) {
            "title of \($0)"
        }?
        .map { part in
            let root = (try? JSONDocument(part.draft()))?.root
            guard root?["page"]?.bool == true else { return root?["body"]?.string ?? "?" }
            return "[\(root?["richLinkData"]?["title"]?.string ?? "?")]"
        }
    }

    @Test(arguments: [
        ("See (https://a.example/b). Thanks!", ["See", "[title of https://a.example/b]", "Thanks!"]),
        ("https://a.example", ["[title of https://a.example]"]),
        (
            "A shop.example B www.b.example.",
            [
                "A", "[title of https://shop.example]", "B", "[title of https://www.b.example]",
            ]
        ),
    ])
    func `a text becomes words and links in its order`(_ text: String, _ parts: [String]) {
        #expect(split(text) == parts)
    }

    @Test func `a text without or with too many addresses, and any other message, stays`() {
        #expect(split("Hello") == nil)
        #expect(split("https://a.b https://a.b https://a.b")?.count == 3)
        #expect(split("https://a.b https://a.b https://a.b https://a.b") == nil)
        let link = OutboundMessage.richLink(RichLink("https://a.b", title: "T", image: nil))
        #expect(link.splitAtLinks(hosts: [], maximum: 3) { $0 } == nil)
        #expect(link.linkCount(hosts: []) == 0)
    }

    @Test func `a long text of dots, brackets or marks takes little time`() {
        let text = String(repeating: "https:/./.www", count: 20_000)
        #expect(text.webLinks(hosts: ["shop.example"]).count < 2)
        let closed = "https://a.example/" + String(repeating: ")", count: 1900) + " "
        #expect(String(repeating: closed, count: 100).webLinks().count == 100)
        // One character of many scalars.
        let marked = "x" + String(repeating: "\u{301}\u{323}", count: 60_000)
        #expect("\(marked) https://a.example/ \(marked)".webLinks().map(\.url) == ["https://a.example/"])
        let words = String(repeating: "a.b ", count: 20_000)
        #expect(words.webLinks(hosts: ["shop.example"]).isEmpty)
    }
}
