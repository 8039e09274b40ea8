import BalloonHTTP
import Payments

/// The page for a device that cannot pay with Apple Pay.
enum PaymentPage {
    /// The page of the business with this name, for a request in this standing.
    static func page(business: String, _ standing: Payment.Standing) -> PublicPage {
        let name = business.htmlEscaped
        let (charged, advice) =
            switch standing {
            case .unpaid: ("Nothing was charged.", ask)
            case .returned: ("An earlier charge was returned, and nothing else was charged.", ask)
            case .paid: ("This request is already paid.", "You need not pay again.")
            case .unclear:
                (
                    "An earlier payment of this request is still being checked.",
                    "Please do not pay again before you hear from us in Messages."
                )
            }
        return PublicPage(
            title: "Pay \(business)",
            main: """
                <h1>Apple Pay is not available here</h1>
                <p>This device cannot pay <strong>\(name)</strong> with Apple Pay. \(charged)</p>
                <p>\(advice)</p>
                """)
    }

    private static let ask =
        "Open the message on an iPhone or iPad with a card in Wallet, or reply in Messages and ask for another way to pay."
}
