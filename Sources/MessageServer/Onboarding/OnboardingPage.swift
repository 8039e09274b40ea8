import BalloonHTTP

/// The pages of the path `/landing`.
///
/// Every value in a page comes from an unknown sender. It is escaped, and never becomes the address of a link
/// or of an image.
enum OnboardingPage {
    /// Returns the form; the browser sends Apple's values back in hidden fields.
    static func form(_ claim: OnboardingClaim) -> PublicPage {
        let hidden = [("id", claim.business), ("name", claim.name), ("logo", claim.logo)].map { name, value in
            #"<input type="hidden" name="\#(name)" value="\#(value.htmlEscaped)">"#
        }
        let facts = [("Name", claim.name), ("Business ID", claim.business), ("Logo", claim.logo)]
            .filter { !$0.1.isEmpty }
            .map { "<dt>\($0.0)</dt><dd><bdi>\($0.1.htmlEscaped)</bdi></dd>" }
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

    /// The page that confirms a received claim.
    static let done = PublicPage(
        title: "Thank you",
        main: """
            <h1>Thank you</h1>
            <p>We have your request and will contact you. You can close this page.</p>
            """)

    /// Returns the page for a claim with a missing or malformed field.
    static func refusal(_ defect: OnboardingClaim.Defect) -> PublicPage {
        let text =
            switch defect {
            case .missing("contact"): "Please go back and enter your e-mail address or telephone number."
            case .missing, .malformed:
                "This address is incomplete or too long. Please open it again from Apple Business Register."
            }
        return PublicPage(title: "Not sent", main: "<h1>Not sent</h1>\n<p>\(text)</p>")
    }

    /// The page for a claim that cannot be stored, because there are too many claims or the disk fails.
    static let unavailable = PublicPage(
        title: "Not now",
        main: """
            <h1>Not now</h1>
            <p>We cannot take more requests at the moment. Please try again in an hour.</p>
            """)
}
