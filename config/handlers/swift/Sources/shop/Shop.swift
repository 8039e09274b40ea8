import HandlerKit

/// A shop: questions by quick reply, list picker, time picker and form, a sign-in, and a payment.
struct Shop: TextHandler, QuickReplyHandler, ListPickerHandler, TimePickerHandler, FormHandler,
    AuthenticationHandler, ApplePayHandler, PaymentGatewayHandler, ShippingMethodUpdateHandler,
    ShippingContactUpdateHandler, ConfigurableHandler
{
    /// The member `"config"` of a business's file.
    struct Configuration: Decodable {
        /// The first question to customers.
        var question: String?
    }

    let configuration: Configuration

    func text(_ text: Text, _ context: Context) async throws -> Outcome {
        if text.body.lowercased() == "sign in" {
            let request = SignInRequest(OutboundBubble("Sign in"), reply: OutboundBubble("Signed in"))
            return .reply(.signIn(request).orText("Please call us: this device cannot sign in."))
        }
        if text.body.lowercased() == "pay" { return .reply(paymentRequest) }
        let choices = try QuickReplyRequest(
            summary: configuration.question ?? "What can we do for you?",
            items: [.init("order", title: "Order bread"), .init("person", title: "Talk to a person")])
        return context.reply(.quickReply(choices))
    }

    func quickReply(_ quickReply: QuickReply, _ context: Context) async throws -> Outcome {
        if quickReply.selectedIdentifier == "person" { return .handoff(reason: "asked for a person") }
        let bread = ListPickerRequest.Section(
            "Bread", items: [.init("rye", title: "Rye"), .init("wheat", title: "Wheat")])
        return .reply(.listPicker(ListPickerRequest([bread], presentation: Presentation("Which bread?"))))
    }

    func listPicker(_ listPicker: ListPicker, _ context: Context) async throws -> Outcome {
        context.state["bread"] = listPicker.selectedItems.first?.title
        let slots = [("morning", "2030-07-10T08:00+0000"), ("evening", "2030-07-10T17:00+0000")].map {
            TimePickerRequest.Timeslot($0, startTime: $1, duration: .seconds(3600))
        }
        let request = TimePickerRequest(
            "collect", title: "Collect it", timeslots: slots, presentation: Presentation("When?"))
        return .reply(.timePicker(request))
    }

    func timePicker(_ timePicker: TimePicker, _ context: Context) async throws -> Outcome {
        let page = FormRequest.Page.input(
            "name", title: "Your name", subtitle: "Who collects it?", options: .init(isRequired: true),
            submitsForm: true)
        return .reply(.form(FormRequest([page], presentation: Presentation("Your name"))))
    }

    func form(_ form: Form, _ context: Context) async throws -> Outcome {
        let bread = context.state["bread"] ?? "bread"
        context.state.clear()
        return .reply("Thank you! Your \(bread) will be ready.")
    }

    func authentication(_ authentication: Authentication, _ context: Context) async throws -> Outcome {
        switch context.signIn {
        case .signedIn(let identity):
            .reply("Welcome, \(identity.claims["name"]?.string ?? "dear customer")!")
        case .declined: .reply("You did not sign in. You can order without it.")
        case .expired: .reply("The sign-in took too long. Write \"sign in\" to begin again.")
        default: .reply("The sign-in did not work. Write \"sign in\" to begin again.")
        }
    }

    func applePay(_ applePay: ApplePay, _ context: Context) async throws -> Outcome {
        guard let payment = context.payment, payment.state == .paid else {
            return .reply("Nothing was charged. Write \"pay\" to try again.")
        }
        return .reply("Thank you! You paid \(payment.amount) \(payment.currency).")
    }
}

/// The payment of a basket of bread.
extension Shop {
    private static let bread = PaymentSheet.LineItem("Bread", amount: "6.00")
    private static let deliveries = [
        PaymentSheet.ShippingMethod("bicycle", label: "Bicycle", detail: "Within two hours", amount: "2.00"),
        PaymentSheet.ShippingMethod("post", label: "Post", detail: "Tomorrow", amount: "4.00"),
    ]
    /// The sum with each delivery.
    private static let totals = ["bicycle": "8.00", "post": "10.00"]

    private var paymentRequest: Reply {
        var request = PaymentRequest(
            OutboundBubble("A basket of bread"), total: .init("Shop", amount: "8.00"),
            lineItems: [Self.bread, .init("Bicycle", amount: "2.00")], currency: "EUR", country: "DE",
            networks: ["visa", "masterCard"])
        request.shippingMethods = Self.deliveries
        request.requiredShippingContactFields = [.post]
        return Reply.payment(request).orText("Please pay when you collect it: this device has no Apple Pay.")
    }

    private func sheet(_ delivery: PaymentSheet.ShippingMethod?) -> SheetUpdate {
        guard let delivery, let total = Self.totals[delivery.identifier] else { return .unchanged }
        return SheetUpdate(
            total: .init("Shop", amount: total),
            lineItems: [Self.bread, .init(delivery.label, amount: delivery.amount)])
    }

    func shippingMethodUpdate(
        _ method: PaymentSheet.ShippingMethod, _ context: PaymentContext
    ) async throws -> SheetUpdate {
        sheet(Self.deliveries.first { $0.identifier == method.identifier })
    }

    func shippingContactUpdate(_ contact: PaymentContact, _ context: PaymentContext) async throws
        -> SheetUpdate
    {
        if contact.countryCode?.uppercased() == "DE" { return .unchanged }
        // No bicycle goes abroad.
        var update = sheet(Self.deliveries.last)
        update.shippingMethods = Self.deliveries.suffix(1)
        return update
    }

    func paymentGateway(_ token: PaymentToken, _ context: PaymentContext) async throws -> PaymentOutcome {
        // A real shop calls its payment provider here, with token.json, the total and context.attempt as the idempotency
        // key. This one accepts every card but the one that `balloon simulate applePay --decline` uses.
        if token.method?.displayName == "Visa 0002" {
            return .failure([PaymentError(.unknown, message: "The bank declined the card.")])
        }
        return .success(charged: context.sheet.total.amount, reference: "test-\(context.attempt.prefix(8))")
    }

    /// A real shop returns the charge with the key `reversal.attempt` here; this one charged nothing.
    func reversal(_ reversal: PaymentReversal) async throws {}
}
