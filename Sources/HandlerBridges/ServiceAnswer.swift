import BalloonTransport
import BalloonWire
import HandlerKit
import HandlerProtocol

/// Reads the content of a service's 2xx answer.
enum ServiceAnswer {
    /// The maximum bytes of a body after inflation.
    private static let maximumBytes = 1 << 20
    /// The maximum bytes of a text that only acknowledges the call.
    private static let maximumTextBytes = 200
    private static let allowed = "JSON, an empty body, or a short text such as OK"
    private static let passage = "balloon-handler/1, \"A service instead of a program\""

    /// Returns the result, which is JSON; nil for an empty body, or a short text such as `OK`: the service has then handled
    /// the call.
    ///
    /// A page or damaged JSON is refused, because the service would send it again.
    static func read(_ response: TransportResponse) throws(AnswerRefusal) -> JSONValue? {
        let body = withoutByteOrderMark(try inflated(response.body))
        guard let first = body.first(where: { !" \t\r\n".utf8.contains($0) }) else { return nil }
        let type = response.mediaType
        let isCoded = !["", "identity", "gzip", "x-gzip"].contains(
            response.header("Content-Encoding")?.lowercased() ?? "")
        // A text that begins as JSON or a page is one, whatever its type says. Frameworks and scripts that write
        // `OK` often give it no type.
        if ["", "text/plain"].contains(type), !isCoded, body.count <= maximumTextBytes,
            !"{[<".utf8.contains(first)
        {
            return nil
        }
        do throws(JSONError) {
            return try JSONDocument(body).root
        } catch {
            let isPage = type == "text/html" || first == UInt8(ascii: "<")
            throw refusal(
                "json",
                isPage
                    ? "an HTML page"
                    : isCoded ? "a Content-Encoding other than gzip" : "a body that is not JSON: \(error)")
        }
    }

    /// The body without gzip, which a proxy may add although the request asks for none.
    private static func inflated(_ body: [UInt8]) throws(AnswerRefusal) -> [UInt8] {
        // Neither JSON nor a text begins with these bytes, so the header need not be believed.
        guard Gzip.hasMagic(body) else { return body }
        var content: [UInt8] = []
        do throws(WireError) {
            try GzipDecompressor().decompress(
                body, into: &content, maximumBytes: maximumBytes, maximumRatio: maximumBytes)
            return content
        } catch .gzipTooLarge {
            throw refusal("answerSize", "more than \(maximumBytes) bytes after inflation")
        } catch {
            throw refusal("json", "a damaged gzip body")
        }
    }

    private static func refusal(_ rule: String, _ found: String) -> AnswerRefusal {
        AnswerRefusal([.init(rule: rule, pointer: "", found: found, allowed: allowed, passage: passage)])
    }
}
