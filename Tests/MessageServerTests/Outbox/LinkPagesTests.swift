import BalloonJSON
import BalloonTransport
import BusinessMessages
import MessageStore
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import MessageServer

/// Links whose title and image the server reads from their page, and pages that are hostile.
struct LinkPagesTests {
    private static let business = BusinessID("5a6b7c8d-0000-4000-8000-000000000002")
    private static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 1, 2, 3]

    private func complete(
        _ url: String, _ pages: [String: TransportResponse] = [:], failure: TransportError = .timedOut
    ) async throws -> (title: String?, image: String?, asked: [String]) {
        var business = BusinessConfiguration(
            slug: "shop", businessID: Self.business, name: "Shop",
            handler: .builtin(name: "none", configuration: nil))
        business.links.hosts = [
            "shop.example": LinkHost(
                title: "Sam's Fish", image: RichLink.Image(bytes: [1], mimeType: "image/png")),
            "img.shop.example": LinkHost(), "none.example": LinkHost(),
        ]
        let transport = PageTransport(pages, failure)
        let links = LinkPages(transport: transport, configuration: CurrentConfiguration([business]))
        let message =
            #"{"id":"m","type":"richLink","page":true,"richLinkData":{"url":"\#(url)","title":"first"}}"#
        let root = try JSONDocument(await links.complete(Array(message.utf8), for: Self.business)).root
        #expect(root["page"] == nil)
        #expect(root["richLinkData"]?["url"]?.string == url)
        // All requests share three seconds, so that a slow body ends in time.
        let times = [.seconds(3)] + transport.requests.map(\.timeout)
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 >= $1 })
        #expect(transport.requests.allSatisfy { $0.needsPublicAddress && $0.connectTimeout <= $0.timeout })
        return (
            root["richLinkData"]?["title"]?.string,
            root["richLinkData"]?["assets"]?["image"]?["mimeType"]?.string, transport.requests.map(\.url)
        )
    }

    /// Answers nothing, and lets the customer close the conversation meanwhile.
    private struct ClosingTransport: HTTPTransport {
        let store: Store

        func send(_ request: TransportRequest) async throws -> TransportResponse {
            let close = ReceivedMessage(
                business: LinkPagesTests.business, customer: CustomerID("c"), id: MessageID("close"),
                message: Array(#"{"id":"close","type":"close"}"#.utf8), act: .closes)
            await withCheckedContinuation { continuation in
                store.append(close) { _ in continuation.resume() }
            }
            throw TransportError.timedOut
        }
    }

    @Test func `a reply is not sent when the customer closes the conversation while a part of it is added`()
        async throws
    {
        let test = try await SenderUnderTest(isRunning: false)
        var business = BusinessConfiguration(
            slug: "shop", businessID: Self.business, name: "Shop",
            handler: .builtin(name: "none", configuration: nil))
        let image = RichLink.Image(bytes: Self.png, mimeType: "image/png")
        business.links.hosts = ["shop.example": LinkHost(title: "Sam's Fish", image: image)]
        let configuration = CurrentConfiguration([business])
        let sender = ReplySender(
            store: test.store, gateway: test.sender.gateway, replyFiles: test.sender.replyFiles,
            linkPages: LinkPages(
                transport: ClosingTransport(store: test.store), configuration: configuration),
            observer: LogObserver(test.log.logger), logger: test.log.logger, configuration: configuration)
        let id = MessageID.random()
        let message = """
            {"id":"\(id)","v":1,"type":"richLink","sourceId":"\(Self.business.rawValue)","destinationId":"c","page":true,
            "richLinkData":{"url":"https://shop.example/cod","title":"Cod"}}
            """
        await test.queue("", to: "c", of: Self.business, id: id, body: Array(message.utf8))
        let entry = try #require(test.store.leaseReply())
        guard case .ended(let result) = await sender.decision(about: entry) else {
            Issue.record("the reply was sent")
            return
        }
        #expect(result.status == .dropped, "\(result.reason ?? "")")
        #expect(test.gateway.requestCount(.message) == 0)
        test.store.release(entry)
        await test.stop()
    }

    private func page(_ html: String) -> TransportResponse {
        TransportResponse(status: 200, body: Array(html.utf8))
    }

    @Test func `title and image are those of the page`() async throws {
        let html = """
            <html><head><title>Plain</title><meta content='Cod &amp; &#x1F41F;' property="og:title">
            <META PROPERTY=og:image CONTENT="//img.shop.example/a.png"></head>
            """
        let link = try await complete(
            "https://shop.example/cod",
            [
                "https://shop.example/cod": page(html),
                "https://img.shop.example/a.png": TransportResponse(status: 200, body: Self.png),
            ])
        #expect(link.title == "Cod & 🐟")
        #expect(link.image == "image/png")
    }

    @Test(arguments: [
        "https://other.example/once", "http://shop.example/", "https://shop.example@evil.example/",
        "https://shop.example:8443/",
    ])
    func `an address outside the list, without TLS or of another port is never asked`(_ url: String)
        async throws
    {
        #expect(try await complete(url).asked.isEmpty)
    }

    @Test func `without an answer the host's entry counts, and without that the first title`() async throws {
        let entry = try await complete("https://shop.example/cod")
        #expect(entry.title == "Sam's Fish")
        #expect(entry.image == "image/png")
        let none = try await complete("https://none.example/cod")
        #expect(none.title == "first")
        #expect(none.image == nil)
        #expect(try await complete("https://other.example/").title == "first")
    }

    @Test func `a redirect is followed inside the list only, and three times at most`() async throws {
        func redirect(_ to: String) -> TransportResponse {
            TransportResponse(status: 302, headers: [("Location", to)])
        }
        let inside = try await complete(
            "https://shop.example/a",
            [
                "https://shop.example/a": redirect("/b"),
                "https://shop.example/b": redirect("https://none.example/c"),
                "https://none.example/c": page("<title>C</title>"),
            ])
        #expect(inside.title == "C")
        for target in [
            "https://169.254.169.254/x", "http://shop.example/b", "https://evil.example/",
            "file:///etc/passwd",
        ] {
            let outside = try await complete(
                "https://shop.example/a", ["https://shop.example/a": redirect(target)])
            #expect(outside.title == "Sam's Fish")
            #expect(outside.asked == ["https://shop.example/a"])
        }
        let loop = try await complete("https://shop.example/a", ["https://shop.example/a": redirect("/a")])
        #expect(loop.asked.count == 4)
        #expect(loop.title == "Sam's Fish")
    }

    @Test func `an image that is none, or outside the list, is left out`() async throws {
        for image in [
            "https://evil.example/a.png", "http://shop.example/a.png", "a.png", "data:image/png;base64,AA",
        ] {
            let link = try await complete(
                "https://none.example/",
                ["https://none.example/": page("<meta property=og:image content='\(image)'>")])
            #expect(link.image == nil)
            #expect(link.asked == ["https://none.example/"])
        }
        let text = try await complete(
            "https://none.example/",
            [
                "https://none.example/": page("<meta property=og:image content='/a.png'>"),
                "https://none.example/a.png": page("<svg onload=alert(1)>"),
            ])
        #expect(text.image == nil)
    }

    @Test(arguments: [
        TransportError.timedOut, .addressRefused, .hostUnresolved, .certificateRefused,
        .interrupted(code: 56),
        .responseTooLarge(maximumBytes: 1),
    ])
    func `a page that is slow, private, broken or without a valid certificate costs its title only`(
        _ failure: TransportError
    ) async throws {
        let link = try await complete("https://shop.example/cod", failure: failure)
        #expect(link.title == "Sam's Fish" && link.asked == ["https://shop.example/cod"])
        let noImage = try await complete(
            "https://none.example/",
            ["https://none.example/": page("<title>A</title><meta property=og:image content='/a.png'>")],
            failure: failure)
        #expect(noImage.title == "A" && noImage.image == nil && noImage.asked.count == 2)
    }

    @Test(arguments: [(256 << 10, 200_000, true), ((256 << 10) + 1, 0, false), (1000, 200_001, false)])
    func `a page of 256 KB and an image of 200 kB are read, larger ones are not`(
        _ pageBytes: Int, _ imageBytes: Int, _ isRead: Bool
    ) async throws {
        var html = Array("<title>A</title><meta property=og:image content='/a.png'><body>".utf8)
        html += Array(repeating: UInt8(ascii: " "), count: pageBytes - html.count)
        let image = Self.png + Array(repeating: 0, count: max(0, imageBytes - Self.png.count))
        let link = try await complete(
            "https://none.example/",
            [
                "https://none.example/": TransportResponse(status: 200, body: html),
                "https://none.example/a.png": TransportResponse(status: 200, body: image),
            ])
        #expect((link.image != nil) == isRead)
        #expect(link.title == (pageBytes > 256 << 10 ? "first" : "A"))
    }

    @Test(arguments: ["text/html", "application/pdf", "image/png", "text/html; charset=utf-16", ""])
    func `the bytes decide what an answer is, not its type`(_ type: String) async throws {
        let header = [("Content-Type", type)]
        let link = try await complete(
            "https://none.example/",
            [
                "https://none.example/": TransportResponse(
                    status: 200, headers: header,
                    body: Array("<title>A</title><meta property=og:image content='/a'>".utf8)),
                "https://none.example/a": TransportResponse(
                    status: 200, headers: header, body: Array("<script>1</script>".utf8)),
            ])
        #expect(link.title == "A" && link.image == nil)
        let binary = try await complete(
            "https://none.example/",
            ["https://none.example/": TransportResponse(status: 200, headers: header, body: Self.png)])
        #expect(binary.title == "first" && binary.image == nil)
    }

    @Test(arguments: [
        ("<script>document.title='<title>No</title>'</script><title>Yes</title>", "Yes"),
        ("<!-- <title>No</title> --><title>\n  A\tB \u{202E}C\u{0007} </title>", "A B C"),
        ("<body><title>No</title>", nil), ("<title>", nil), ("<title></title>", nil), ("<", nil),
        ("<meta", nil),
        ("<meta property=\"og:title\" content=\"A", "A"),
        ("<title>&lt;b&gt;&bogus;&#0;&#xD800;&</title>", "<b>&bogus; &#xD800;&"),
        ("<title>" + String(repeating: "x", count: 300) + "</title>", String(repeating: "x", count: 200)),
    ])
    func `a title is words only`(_ html: String, _ title: String?) {
        #expect(PageHead(Array(html.utf8)).title == title)
    }

    @Test func `pages of any bytes are read in linear time`() {
        for part in ["<", "<meta ", "<!--", "<script>", "&", "<title", "<a b='"] {
            let html = String(repeating: part, count: (256 << 10) / part.utf8.count)
            #expect(PageHead(Array(html.utf8)).title == nil)
        }
    }
}

/// Answers with given pages within the request's limit; any other address fails.
private final class PageTransport: HTTPTransport {
    private let pages: [String: TransportResponse]
    private let failure: TransportError
    private let asked = Mutex<[TransportRequest]>([])

    var requests: [TransportRequest] { asked.withLock { $0 } }

    init(_ pages: [String: TransportResponse], _ failure: TransportError) {
        (self.pages, self.failure) = (pages, failure)
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        asked.withLock { $0.append(request) }
        guard let page = pages[request.url] else { throw failure }
        guard page.body.count <= request.maximumResponseBytes else {
            throw TransportError.responseTooLarge(maximumBytes: request.maximumResponseBytes)
        }
        return page
    }
}
