/// The page that asks whether the customer started the sign-in.
///
/// A stranger can send the address of his own sign-in to a victim, who then signs in for the stranger's conversation. The
/// page names the business and asks; without the answer no identity is released.
enum SignInPage {
    /// The page for a business; `value` is sent back once, and the answer leads to Messages.
    static func page(business: String, slug: String, value: String) -> PublicPage {
        let name = PublicPage.escaped(business)
        return PublicPage(
            title: "Sign in to \(business)",
            main: """
                <h1>Did you start this?</h1>
                <p>You are signing in to the chat with <strong>\(name)</strong> in Messages. Did you start this there?</p>
                <p>If somebody sent you a link to this sign-in, close this page.</p>
                <form method="post" action="/auth/\(PublicPage.escaped(slug))/confirm">
                <input type="hidden" name="value" value="\(PublicPage.escaped(value))">
                <button>Yes, sign in</button>
                </form>
                """, redirectScheme: "messages-auth:")
    }
}
