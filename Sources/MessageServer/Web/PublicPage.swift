import BalloonHTTP
import BalloonJSON
import BalloonWire

/// A page of the public listener: static HTML without scripts, without frames and without files of other
/// servers.
struct PublicPage: Sendable {
    /// The title, as text.
    let title: String
    /// The content, as HTML.
    let main: String
    /// A scheme such as `app:` to which the answer to the page's form may lead; nil for this server only.
    var redirectScheme: String?

    /// The header fields of an answer that no cache may store and whose address browsers send to no other
    /// site.
    static let fields = [("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer")]

    private static let style = """
        body { font: 1.1em/1.5 system-ui, sans-serif; margin: 3em auto; max-width: 28em; padding: 0 1em; }
        button, input { font: inherit; padding: 0.6em 1.2em; }
        input { box-sizing: border-box; padding: 0.4em; width: 100%; }
        dd { overflow-wrap: anywhere; }
        @media (prefers-color-scheme: dark) { body { background: #111; color: #eee; } }
        """

    private static let styleHash = Base64.encode(SHA256.hash(Array(style.utf8)))

    /// The page's text.
    var html: String {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>\(title.htmlEscaped)</title>
        <style>\(Self.style)</style>
        </head>
        <body>
        <main>
        \(main)
        </main>
        </body>
        </html>

        """
    }

    /// Returns the page as an answer whose policy forbids scripts, frames, and forms to other servers.
    func response(_ status: HTTPStatus = .ok, fields: [(String, String)] = []) -> HTTPResponse {
        let targets = ["'self'", redirectScheme].compactMap { $0 }.joined(separator: " ")
        let policy =
            "default-src 'none'; style-src 'sha256-\(Self.styleHash)'; base-uri 'none'; form-action \(targets); "
            + "frame-ancestors 'none'"
        return HTTPResponse(
            status, contentType: "text/html; charset=utf-8", body: Array(html.utf8),
            fields: Self.fields + fields + [
                ("Content-Security-Policy", policy), ("X-Content-Type-Options", "nosniff"),
                ("X-Frame-Options", "DENY"),
            ])
    }
}
