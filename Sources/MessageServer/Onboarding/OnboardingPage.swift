/// The pages of the path `/landing`.
///
/// Every value in them is a stranger's text: escaped, and never an address of a link or picture.
enum OnboardingPage {
    /// The form; Apple's values are sent back with it.
    static func form(_ claim: OnboardingClaim) -> PublicPage {
        let hidden = [("id", claim.business), ("name", claim.name), ("logo", claim.logo)].map { name, value in
            #"<input type="hidden" name="\#(name)" value="\#(PublicPage.escaped(value))">"#
        }
        let facts = [("Name", claim.name), ("Business ID", claim.business), ("Logo", claim.logo)]
            .filter { !$0.1.isEmpty }
            .map { "<dt>\($0.0)</dt><dd><bdi>\(PublicPage.escaped($0.1))</bdi></dd>" }
        return PublicPage(
            title: "Connect your business",
            main: """
                <h1>Connect your business</h1>
                <dl>
                \(facts.joined(separator: "\n"))
                </dl>
                <form method="post" action="/landing">
                \(hidden.joined(separator: "\n"))
                <p><label for="contact">Your e-mail address or telephone number</label></p>
                <p><input id="contact" name="contact" required maxlength="\(OnboardingClaim.maximumTextBytes)" autocomplete="email"></p>
                <p>We call back through a contact that we know before we connect a business.</p>
                <button>Send</button>
                </form>
                """)
    }

    /// The end.
    static let done = PublicPage(
        title: "Thank you",
        main: """
            <h1>Thank you</h1>
            <p>We have your request and will contact you. You can close this page.</p>
            """)

    /// The answer to an entry that is not kept.
    static func refusal(_ defect: OnboardingClaim.Defect) -> PublicPage {
        let text =
            switch defect {
            case .missing("contact"): "Please go back and enter your e-mail address or telephone number."
            case .missing, .malformed:
                "This address is incomplete or too long. Please open it again from Apple Business Register."
            }
        return PublicPage(title: "Not sent", main: "<h1>Not sent</h1>\n<p>\(text)</p>")
    }

    /// The answer when there are too many claims, or the disk refuses.
    static let unavailable = PublicPage(
        title: "Not now",
        main: """
            <h1>Not now</h1>
            <p>We cannot take more requests at the moment. Please try again in an hour.</p>
            """)
}
