/// The page for a device that cannot pay with Apple Pay.
enum PaymentPage {
    /// The page of the business with this name.
    static func page(business: String) -> PublicPage {
        let name = PublicPage.escaped(business)
        return PublicPage(
            title: "Pay \(business)",
            main: """
                <h1>Apple Pay is not available here</h1>
                <p>This device cannot pay <strong>\(name)</strong> with Apple Pay. Nothing was charged.</p>
                <p>Open the message on an iPhone or iPad with a card in Wallet, or reply in Messages and ask for another way to pay.</p>
                """)
    }
}
