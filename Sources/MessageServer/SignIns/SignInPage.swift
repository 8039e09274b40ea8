import BalloonHTTP

/// The page that asks whether the customer started the sign-in.
///
/// An attacker can send the address of a sign-in from the attacker's conversation to a victim. A victim who
/// signs in there would give the attacker's conversation the victim's identity. The page names the business
/// and asks; without an answer no identity is released.
enum SignInPage {
    /// Returns the page for a business; its form sends `value` back once, and the answer redirects to
    /// Messages.
    static func page(business: String, slug: String, value: String) -> PublicPage {
        let name = business.htmlEscaped
        return PublicPage(
            title: "Sign in to \(business)",
            main: """
                <h1>Did you start this?</h1>
                <p>You are signing in to the chat with <strong>\(name)</strong> in Messages. Did you start this there?</p>
                <p>If somebody sent you a link to this sign-in, close this page.</p>
                <form method="post" action="/auth/\(slug.htmlEscaped)/confirm">
                <input type="hidden" name="value" value="\(value.htmlEscaped)">
                <button>Yes, sign in</button>
                </form>
                """, redirectScheme: "messages-auth:")
    }
}
