import HandlerKit

/// The handler of `balloon dev`: offers three choices and repeats the chosen one.
struct DemoHandler: TextHandler, QuickReplyHandler, ListPickerHandler, TimePickerHandler, FormHandler,
    AuthenticationHandler, ApplePayHandler, AppHandler, InvitationHandler
{
    private static let question = "What can we do for you?"
    private static let choices = [
        QuickReplyRequest.Item("hours", title: "Opening hours"),
        QuickReplyRequest.Item("order", title: "Track my order"),
        QuickReplyRequest.Item("person", title: "Talk to a person"),
    ]

    func text(_ text: Text, _ context: Context) throws -> Outcome {
        if text.body.lowercased() == "sign in" {
            let request = SignInRequest(OutboundBubble("Sign in"), reply: OutboundBubble("Signed in"))
            return .reply(.signIn(request).orText("This device cannot sign in."))
        }
        guard context.capabilities.contains(.quickReply) else {
            let titles = Self.choices.map { "- \($0.title)" }
            return .reply(([Self.question] + titles).joined(separator: "\n"))
        }
        return .reply(.quickReply(try QuickReplyRequest(summary: Self.question, items: Self.choices)))
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
    func applePay(_ applePay: ApplePay, _ context: Context) -> Outcome { repeating(context) }
    func app(_ app: App, _ context: Context) -> Outcome { repeating(context) }
    func invitation(_ invitation: Invitation, _ context: Context) -> Outcome { repeating(context) }

    /// Replies with the event's summary, which contains neither tokens nor the answers of private forms.
    private func repeating(_ context: Context) -> Outcome { .reply("You chose: \(context.event.summary)") }
}

/// Creates the demo for `"handler": {"builtin": "demo"}`, which has no configuration.
struct DemoHandlerFactory: HandlerFactory {
    let name = "demo"

    func make(configuration: JSONValue?) -> any Handler { DemoHandler() }
}
