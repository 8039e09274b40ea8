import BalloonJSON
import BalloonTransport
import BusinessMessages
import MessageStore

/// Adds title and image to a link that the server made of a handler's words.
///
/// ```json
/// {"type": "richLink", "page": true, "richLinkData": {"url": "https://shop.example.com/a", "title": "…"}}
/// ```
/// Journal and conversation store this form; each attempt to send the message asks the page. Only pages of
/// `links.hosts` are asked: another address may be one that works once. Without an answer in time the link is sent
/// with title and image of its host in the file.
struct LinkPages: Sendable {
    let transport: any HTTPTransport
    let configuration: CurrentConfiguration

    private static let timeLimit = Duration.seconds(3)
    private static let maximumPageBytes = 256 << 10
    private static let maximumImageBytes = 200_000
    private static let maximumRedirects = 3

    /// Returns the message in Apple's format; a message without `page` is returned unchanged.
    func complete(_ message: [UInt8], for business: BusinessID) async -> [UInt8] {
        // The message was encoded by this server, so it is valid JSON.
        guard message.mayHaveMember("page"), let root = (try? JSONDocument(message, limits: .stored))?.root,
            root["page"] != nil, let data = root["richLinkData"], let url = data["url"]?.string
        else { return message }
        let hosts = configuration.setting(\.links, of: business)?.hosts ?? [:]
        let entry = LinkHost.host(of: url).flatMap { hosts[$0] }
        let page = entry == nil ? nil : await page(at: url, in: hosts)
        let link = RichLink(
            url, title: page?.title ?? entry?.title ?? data["title"]?.string ?? url,
            image: page?.image ?? entry?.image)
        let draft = (try? JSONDocument(OutboundMessage.richLink(link).draft()))?.root["richLinkData"]
        return JSONWriter.object(reservingCapacity: message.count + (draft?.text.count ?? 0)) { writer in
            for (member, value) in root.members where member != "page" {
                writer.field(member, member == "richLinkData" ? draft ?? value : value)
            }
        }
    }

    /// Returns what a page says about itself; nil when it does not answer as it should, or in time.
    private func page(
        at url: String, in hosts: [String: LinkHost]
    ) async -> (title: String?, image: RichLink.Image?)? {
        let end = ContinuousClock.now + Self.timeLimit
        guard let (page, address) = await content(url, Self.maximumPageBytes, in: hosts, until: end) else {
            return nil
        }
        let head = PageHead(page)
        var image: RichLink.Image?
        if let path = head.image, let picture = LinkHost.absolute(path, on: address),
            let (bytes, _) = await content(picture, Self.maximumImageBytes, in: hosts, until: end)
        {
            image = LinkHost.image(bytes)
        }
        return (head.title, image)
    }

    /// Returns the content at an address, and the address behind its redirects, which must stay in the list.
    private func content(
        _ url: String, _ maximumBytes: Int, in hosts: [String: LinkHost], until end: ContinuousClock.Instant
    ) async -> (bytes: [UInt8], url: String)? {
        var url = url
        for _ in 0...Self.maximumRedirects {
            let left = end - .now
            guard left > .zero, url.lowercased().hasPrefix("https://"),
                let host = LinkHost.host(of: url), hosts[host] != nil
            else { return nil }
            let request = TransportRequest(
                url: url,
                headers: [("Accept", "text/html, image/png, image/jpeg"), ("User-Agent", "Balloon")],
                timeout: left, connectTimeout: left, maximumResponseBytes: maximumBytes,
                needsPublicAddress: true)
            // The customer gets the link without the page's answer.
            guard let response = try? await transport.send(request) else { return nil }
            if response.status == 200 { return (response.body, url) }
            guard (300..<400).contains(response.status), let location = response.header("location"),
                let next = LinkHost.absolute(location, on: url)
            else { return nil }
            url = next
        }
        return nil
    }
}
