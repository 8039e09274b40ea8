import HandlerKit

/// The handler of `balloon dev`: offers three choices and repeats the chosen one; "sign in" and "pay" ask for that.
///
/// A choice may also be written, because some devices show no quick replies.
struct DemoHandler: TextHandler, QuickReplyHandler, ListPickerHandler, TimePickerHandler, FormHandler,
    AuthenticationHandler, ApplePayHandler, PaymentGatewayHandler, ShippingMethodUpdateHandler, AppHandler,
    InvitationHandler
{
    private static let question = "What can we do for you?"
    private static let choices = [
        QuickReplyRequest.Item("hours", title: "Opening hours"),
        QuickReplyRequest.Item("order", title: "Track my order"),
        QuickReplyRequest.Item("person", title: "Talk to a person"),
    ]

    func text(_ text: Text, _ context: Context) throws -> Outcome {
        // A heart on a message asks nothing.
        if text.tapback != nil { return .handled }
        if text.body.lowercased() == "sign in" {
            let request = SignInRequest(OutboundBubble("Sign in"), reply: OutboundBubble("Signed in"))
            return .reply(.signIn(request).orText("This device cannot sign in."))
        }
        if text.body.lowercased() == "pay" {
            return .reply(Reply.payment(Self.paymentRequest).orText("This device cannot pay."))
        }
        if let written = Self.choices.first(where: { $0.identifier == text.plainBody.lowercased() }) {
            return .reply("You chose: \(written.title)")
        }
        // The question is a text: a device shows the summary of a quick reply only in its notification.
        let request = try QuickReplyRequest(summary: "Please choose", items: Self.choices)
        let words = Self.choices.map(\.identifier).joined(separator: ", ")
        return .reply(.text(Self.question), .quickReply(request).orText("Please write one of: \(words)."))
    }

    func quickReply(_ quickReply: QuickReply, _ context: Context) -> Outcome { repeating(context) }
    func listPicker(_ listPicker: ListPicker, _ context: Context) -> Outcome { repeating(context) }
    func timePicker(_ timePicker: TimePicker, _ context: Context) -> Outcome { repeating(context) }
    func form(_ form: Form, _ context: Context) -> Outcome { repeating(context) }
    func authentication(_ authentication: Authentication, _ context: Context) -> Outcome {
        switch context.signIn {
        case .signedIn(let identity): .reply("You are signed in as \(identity.subject).")
        case let result?: .reply("The sign-in ended: \(result.name).")
        case nil: repeating(context)
        }
    }
    func applePay(_ applePay: ApplePay, _ context: Context) -> Outcome {
        guard let payment = context.payment else { return repeating(context) }
        return .reply(
            "The payment of \(payment.amount) \(payment.currency) ended: \(payment.state.rawValue).")
    }
    func app(_ app: App, _ context: Context) -> Outcome { repeating(context) }
    func invitation(_ invitation: Invitation, _ context: Context) -> Outcome { repeating(context) }

    private static let deliveries = [
        PaymentSheet.ShippingMethod("standard", label: "Standard", detail: "Three days", amount: "4.00"),
        PaymentSheet.ShippingMethod("express", label: "Express", detail: "Tomorrow", amount: "9.00"),
    ]

    private static var paymentRequest: PaymentRequest {
        var request = PaymentRequest(
            OutboundBubble("Demo order"), total: .init("Demo", amount: "59.00"),
            lineItems: [.init("Order", amount: "55.00"), .init("Standard", amount: "4.00")], currency: "EUR",
            country: "DE", networks: ["visa", "masterCard"])
        request.shippingMethods = deliveries
        return request
    }

    func shippingMethodUpdate(_ method: PaymentSheet.ShippingMethod, _ context: PaymentContext) -> SheetUpdate
    {
        guard method.identifier == "express" else {
            return SheetUpdate(total: Self.paymentRequest.total, lineItems: Self.paymentRequest.lineItems)
        }
        return SheetUpdate(
            total: .init("Demo", amount: "64.00"),
            lineItems: [.init("Order", amount: "55.00"), .init("Express", amount: "9.00")])
    }

    /// Charges nothing; accepts every card but that of `balloon simulate applePay --decline`.
    func paymentGateway(_ token: PaymentToken, _ context: PaymentContext) -> PaymentOutcome {
        token.method?.displayName == "Visa 0002"
            ? .failure([PaymentError(.unknown, message: "The bank declined the card.")])
            : .success(charged: context.sheet.total.amount, reference: "demo-\(context.attempt.prefix(8))")
    }

    func reversal(_ reversal: PaymentReversal) {}

    /// Replies with the event's summary, which contains neither tokens nor the answers of private forms.
    private func repeating(_ context: Context) -> Outcome { .reply("You chose: \(context.event.summary)") }
}

/// Creates the demo for `"handler": {"builtin": "demo"}`, which has no configuration.
struct DemoHandlerFactory: HandlerFactory {
    let name = "demo"

    func make(configuration: JSONValue?) -> any Handler { DemoHandler() }
}
