import BalloonJSON
import BalloonWire

/// The page that asks whether the customer started the sign-in: static HTML without scripts.
///
/// A stranger can send the address of his own sign-in to a victim, who then signs in for the stranger's conversation. The
/// page names the business and asks; without the answer no identity is released.
enum SignInPage {
    /// The Content-Security-Policy: no scripts, one style, no frame, and a form to this server, whose answer leads to
    /// Messages.
    static let policy =
        "default-src 'none'; style-src 'sha256-\(Base64.encode(SHA256.hash(Array(style.utf8))))'; base-uri 'none'; "
        + "form-action 'self' messages-auth:; frame-ancestors 'none'"

    private static let style = """
        body { font: 1.1em/1.5 system-ui, sans-serif; margin: 3em auto; max-width: 28em; padding: 0 1em; }
        button { font: inherit; padding: 0.6em 1.2em; }
        @media (prefers-color-scheme: dark) { body { background: #111; color: #eee; } }
        """

    /// The page for a business; `value` is sent back once.
    static func html(business: String, slug: String, value: String) -> [UInt8] {
        let name = escaped(business)
        return Array(
            """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>Sign in to \(name)</title>
            <style>\(style)</style>
            </head>
            <body>
            <main>
            <h1>Did you start this?</h1>
            <p>You are signing in to the chat with <strong>\(name)</strong> in Messages. Did you start this there?</p>
            <p>If somebody sent you a link to this sign-in, close this page.</p>
            <form method="post" action="/auth/\(escaped(slug))/confirm">
            <input type="hidden" name="value" value="\(escaped(value))">
            <button>Yes, sign in</button>
            </form>
            </main>
            </body>
            </html>

            """.utf8)
    }

    /// The text without characters that have a meaning in HTML.
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
