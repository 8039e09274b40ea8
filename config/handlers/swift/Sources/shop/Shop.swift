import HandlerKit
import Synchronization

/// A shop: questions by quick reply, list picker, time picker and form, a sign-in, and a payment.
///
/// Each question has a text for devices that cannot show it, and the shop also understands answers that are written.
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
        // A heart on a message asks nothing.
        if text.tapback != nil { return .handled }
        let words = text.plainBody.lowercased()
        switch words {
        case "sign in":
            let request = SignInRequest(OutboundBubble("Sign in"), reply: OutboundBubble("Signed in"))
            return .reply(.signIn(request).orText("Please call us: this device cannot sign in."))
        case "pay": return .reply(paymentRequest)
        case "person": return .handoff(reason: "asked for a person")
        case "order": return askForBread()
        case "rye", "wheat": return askForTime(words, context)
        case "morning", "evening": return askForName(context)
        default: return context.state["asksForName"] == nil ? try askForRequest() : thank(context)
        }
    }

    /// The question is a text: a device shows the summary of a quick reply only in its notification.
    private func askForRequest() throws -> Outcome {
        let choices = try QuickReplyRequest(
            summary: "Please choose",
            items: [.init("order", title: "Order bread"), .init("person", title: "Talk to a person")])
        return .reply(
            .text(configuration.question ?? "What can we do for you?"),
            .quickReply(choices).orText("Write “order” to order bread, or “person” to talk to a person."))
    }

    func quickReply(_ quickReply: QuickReply, _ context: Context) async throws -> Outcome {
        if quickReply.selectedIdentifier == "person" { return .handoff(reason: "asked for a person") }
        return askForBread()
    }

    private func askForBread() -> Outcome {
        let bread = ListPickerRequest.Section(
            "Bread", items: [.init("rye", title: "Rye"), .init("wheat", title: "Wheat")])
        let request = ListPickerRequest([bread], presentation: Presentation("Which bread?"))
        return .reply(.listPicker(request).orText("Which bread? Write “rye” or “wheat”."))
    }

    func listPicker(_ listPicker: ListPicker, _ context: Context) async throws -> Outcome {
        askForTime(listPicker.selectedItems.first?.title, context)
    }

    private func askForTime(_ bread: String?, _ context: Context) -> Outcome {
        context.state["bread"] = bread
        let slots = [("morning", "2030-07-10T08:00+0000"), ("evening", "2030-07-10T17:00+0000")].map {
            TimePickerRequest.Timeslot($0, startTime: $1, duration: .seconds(3600))
        }
        let request = TimePickerRequest(
            "collect", title: "Collect it", timeslots: slots, presentation: Presentation("When?"))
        return .reply(
            .timePicker(request).orText("When will you collect it? Write “morning” or “evening”."))
    }

    func timePicker(_ timePicker: TimePicker, _ context: Context) async throws -> Outcome {
        askForName(context)
    }

    private func askForName(_ context: Context) -> Outcome {
        // The next text is the name: not every device shows forms.
        context.state["asksForName"] = "yes"
        let page = FormRequest.Page.input(
            "name", title: "Your name", subtitle: "Who collects it?", options: .init(isRequired: true),
            submitsForm: true)
        let request = FormRequest([page], presentation: Presentation("Your name"))
        return .reply(.form(request).orText("Who collects it? Please write your name."))
    }

    func form(_ form: Form, _ context: Context) async throws -> Outcome { thank(context) }

    private func thank(_ context: Context) -> Outcome {
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
        switch context.payment?.state {
        case .paid:
            let payment = context.payment
            return .reply("Thank you! You paid \(payment?.amount ?? "") \(payment?.currency ?? "").")
        case .unpaid, .declined:
            return .reply("Nothing was charged. Write \"pay\" to try again.")
        case .reversed:
            return .reply(
                "The payment did not go through, and any charge was returned. Write \"pay\" to try again.")
        case .pending: return .reply("Your payment is not confirmed yet. Please do not pay again.")
        case .unreversed:
            return .reply(
                "Your payment failed, and we could not confirm that nothing was charged. We will look into it."
            )
        // Unknown to this server: a second payment could be a second charge.
        case .uncertain, .reversing, nil:
            return .reply(
                "Your payment failed. If you were charged, you get the money back. Please do not pay again yet."
            )
        }
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
        if Self.reversed.holds(context.attempt) {
            // The reversal overtook the charge: the customer already saw a failure.
            return .failure([PaymentError(.unknown, message: "This payment was cancelled.")])
        }
        if token.method?.displayName == "Visa 0002" {
            return .failure([PaymentError(.unknown, message: "The bank declined the card.")])
        }
        return .success(charged: context.sheet.total.amount, reference: "test-\(context.attempt.prefix(8))")
    }

    /// A real shop returns the charge with the key `reversal.attempt` here, if there is one; this one charged nothing.
    ///
    /// It remembers the key in any case, so that a charge that comes later is refused.
    func reversal(_ reversal: PaymentReversal) async throws { Self.reversed.insert(reversal.attempt) }

    private static let reversed = ReversedKeys()
}

/// The keys whose charge was reversed; a real shop asks its payment provider, or keeps them on disk.
private final class ReversedKeys: Sendable {
    private let keys = Mutex<Set<String>>([])

    func insert(_ key: String) { keys.withLock { _ = $0.insert(key) } }
    func holds(_ key: String) -> Bool { keys.withLock { $0.contains(key) } }
}
