import BusinessMessages

private let question = "Was the merchandise you received defective or not as the merchant described?"

private func item(_ identifier: String, _ title: String, _ value: String, next: String? = nil)
    -> FormRequest.Page.Item
{
    FormRequest.Page.Item(identifier, title: title, value: value, next: next)
}

let formMessage = OutboundMessage.form(
    FormRequest(
        [
            .select(
                "0", title: "Type of Product", subtitle: question,
                items: (1...6).map { item("00\($0)", "Option \($0)", "option\($0)") }, isMultiple: true,
                next: "1"),
            .select(
                "1", title: "Item Condition", subtitle: question,
                items: [
                    item("101", "Defective", "defective", next: "2"),
                    item("102", "Not as described", "notAsDescribed", next: "3"),
                ]),
            .select(
                "2", title: "Supporting Documents",
                subtitle:
                    "Do you have any supporting documents that demonstrate that the product quality was not sufficient?",
                items: [item("201", "Yes", "yes", next: "3"), item("202", "No", "no", next: "3")]),
            .picker(
                "3", pickerTitle: "Select Your Region",
                items: [
                    item("301", "APAC", "apac"), item("302", "EMEA", "emea"), item("303", "LATAM", "latam"),
                    item("304", "NAM", "nam"),
                ], next: "4"),
            .date(
                "4", title: "Retrieval Date",
                subtitle: "What date did you receive, or expect to receive the product?",
                options: .init(
                    format: "MM/dd/yyyy", start: "02/12/2020", minimum: "01/01/2020", maximum: "02/13/2020"),
                next: "5"),
            .input(
                "5", title: "Remaining Issues", subtitle: "Please provide details about remaining issue",
                options: .init(
                    isRequired: true, isMultiline: true, maximumCharacters: 300, keyboard: .emailAddress),
                next: "6"),
            .input(
                "6", title: "Product name", subtitle: "Please provide name of the product",
                options: .init(maximumCharacters: 25, keyboard: .phonePad), submitsForm: true),
        ],
        splash: .init(
            button: "Continue", header: "Apple Card",
            text: "Kindly answer the following questions to help us dispute this transaction.", image: "2"),
        showsSummary: true,
        presentation: Presentation(
            OutboundBubble(
                "Apple Card Dispute Form", subtitle: "Please fill out the following dispute form.",
                style: .small, image: "1"),
            reply: OutboundBubble("Tap to view your response.", style: .small, image: "1"),
            images: [
                OutboundImage("1", bytes: image("180x180")), OutboundImage("2", bytes: image("180x180")),
            ],
            requestIdentifier: "da39a3ee-5e6b-4b0d-8255-bfef95601890")))

let optionsMessage = OutboundMessage.form(
    FormRequest(
        [
            .input(
                "amount", title: "Amount", subtitle: "How much is it?",
                options: .init(
                    isRequired: true, maximumCharacters: 8, regex: #"^\d*\.?\d?\d?$"#, placeholder: "0.00",
                    label: "Amount", prefix: "$", keyboard: .decimalPad, contentType: .creditCardNumber),
                hint: "In dollars", next: "day"),
            .date(
                "day", subtitle: "When was it?",
                options: .init(
                    format: "dd.MM.yyyy", start: "10.07.2026", minimum: "01.01.2026", maximum: "31.12.2026",
                    label: "Day"), hint: "Day of purchase", next: "where"),
            .picker(
                "where", title: "Place", subtitle: "Where was it?", pickerTitle: "Region",
                items: [item("n", "North", "north"), item("s", "South", "south")], selectedIndex: 1,
                next: "how"),
            .select(
                "how", subtitle: "How did you pay?",
                items: [
                    .init("cash", title: "Cash", value: "cash", image: "1"), item("card", "Card", "card"),
                ], submitsForm: true),
        ],
        splash: .init(button: "Begin"), isPrivate: true, version: "1.2",
        presentation: Presentation(
            "Your purchase", images: [OutboundImage("1", bytes: image("180x180"))])))

let applePayMessage: OutboundMessage = {
    let gateway = "https://sams.example.com/paymentGateway/"
    var request = ApplePayRequest(
        merchant: "merchant.com.sams.fish", networks: ["amex", "visa", "discover", "masterCard"],
        country: "US", currency: "USD", total: .init("Sam's Fish", amount: "63.99"),
        endpoints: .init(
            paymentGateway: gateway, fallback: "https://sams.example.com/fallback/",
            orderTracking: "https://sams.example.com/orderTrackingUrl/",
            paymentMethodUpdate: "https://sams.example.com/paymentMethodUpdate/",
            shippingContactUpdate: "https://sams.example.com/shippingContactUpdate/",
            shippingMethodUpdate: "https://sams.example.com/shippingMethodUpdate/"),
        session: MerchantSession(
            merchantSessionIdentifier: "PSH40080EF4D655442D...FD", merchantIdentifier: "302B976...8E",
            displayName: "Sam's Fish", initiativeContext: gateway, epochTimestamp: 1_525_722_894_057,
            expiresAt: 1_525_730_094_057, nonce: "fe72cd0f", signature: "308006092a864886f...00",
            signedFields: [
                "merchantIdentifier", "merchantSessionIdentifier", "initiative", "initiativeContext",
                "displayName", "nonce",
            ]),
        presentation: Presentation(
            OutboundBubble("Halibut", subtitle: "$63.99 at Sam's Fish", style: .large, image: "1"),
            images: [OutboundImage("1", bytes: image("789x450"))],
            requestIdentifier: "8EF748B5-3DC5-47AE-B185-65E91518D209"))
    request.merchantCapabilities = [.supports3DS, .supportsDebit, .supportsCredit]
    request.lineItems = [.init("Halibut", amount: "59.00"), .init("Shipping", amount: "4.99")]
    request.requiredBillingContactFields = [.post]
    request.requiredShippingContactFields = [.post, .phone, .email, .name]
    request.shippingMethods = [
        .init(
            "in_store_pickup", label: "In-Store Pickup", detail: "Available within an hour", amount: "0.00"),
        .init(
            "flat_rate_shipping_id_2", label: "UPS Ground", detail: "5-8 Business Days", amount: "4.99"),
        .init(
            "flat_rate_shipping_id_1", label: "FedEx Priority Mail", detail: "1-3 Business Days",
            amount: "29.99"),
    ]
    return .applePay(request)
}()
