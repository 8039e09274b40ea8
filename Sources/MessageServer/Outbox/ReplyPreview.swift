import BusinessMessages
import GatewayClient

/// Replaces the `preview` of a rich link with the preview that Apple creates for an App Clip, a song or a
/// place.
///
/// ```json
/// {"type": "richLink", "preview": {"url": "https://…", "storeRegion": "us", "title": "…"}}
/// ```
/// Journal and conversation store this form; each attempt to send the message asks Apple again.
struct ReplyPreview: Sendable {
    let gateway: GatewayClient

    /// Returns the message in Apple's format; a message without a preview is returned unchanged.
    ///
    /// When Apple has no preview of the URL, the link is sent with its title only; without a title, the error is
    /// thrown.
    func resolve(_ message: [UInt8], for business: BusinessID) async throws(GatewayError) -> [UInt8] {
        // The message was encoded by this server, so it is valid JSON.
        guard message.mayHaveMember("preview"),
            let root = (try? JSONDocument(message, limits: .stored))?.root, let preview = root["preview"],
            let url = preview["url"]?.string
        else { return message }
        do throws(GatewayError) {
            let payload = try await gateway.constructPayload(
                link: url, storeRegion: preview["storeRegion"]?.string ?? "us", for: business)
            return root.replacingPreview(by: "richLinkDataRef", payload.json)
        } catch {
            guard error.isAboutTheLink, let title = preview["title"]?.string else { throw error }
            return root.replacingPreview(
                by: "richLinkData",
                JSONWriter.object(["url": url, "title": title]))
        }
    }
}

extension GatewayError {
    /// Whether Apple has no preview of a link; Apple's answer is then 400.
    fileprivate var isAboutTheLink: Bool {
        if case .refused(.constructPayload, status: 400, _) = self { true } else { false }
    }
}

extension JSONValue {
    fileprivate func replacingPreview(by name: String, _ content: [UInt8]) -> [UInt8] {
        JSONWriter.object(reservingCapacity: text.count + content.count) { writer in
            for (member, value) in members where member != "preview" { writer.field(member, value) }
            writer.raw(name, content)
        }
    }
}
