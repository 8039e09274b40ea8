import BalloonJSON
import BusinessMessages
import HandlerKit
import Logging
import TestSupport

/// A handler of every kind; its reply names the kind and one fact of the typed payload.
struct EveryKindHandler: TextHandler, QuickReplyHandler, ListPickerHandler, TimePickerHandler, FormHandler,
    AuthenticationHandler, ApplePayHandler, AppHandler, InvitationHandler, TypingStartHandler,
    TypingEndHandler,
    CloseHandler, UnrecognizedHandler
{
    func text(_ text: Text, _ context: Context) -> Outcome { .reply("text \(text.body.count)") }
    func quickReply(_ quickReply: QuickReply, _ context: Context) -> Outcome {
        .reply("quickReply \(quickReply.selectedIdentifier ?? "")")
    }
    func listPicker(_ listPicker: ListPicker, _ context: Context) -> Outcome {
        .reply("listPicker \(listPicker.selectedItems.count)")
    }
    func timePicker(_ timePicker: TimePicker, _ context: Context) -> Outcome {
        .reply("timePicker \(timePicker.selectedTimeslot?.identifier ?? "")")
    }
    func form(_ form: Form, _ context: Context) -> Outcome { .reply("form \(form.selections.count)") }
    func authentication(_ authentication: Authentication, _ context: Context) -> Outcome {
        .reply("authentication \(authentication.status ?? "")")
    }
    func applePay(_ applePay: ApplePay, _ context: Context) -> Outcome {
        .reply("applePay \(applePay.state?.rawValue ?? "")")
    }
    func app(_ app: App, _ context: Context) -> Outcome { .reply("app \(app.appID ?? "")") }
    func invitation(_ invitation: Invitation, _ context: Context) -> Outcome {
        .reply("invitation \(invitation.isAccepted)")
    }
    func typingStart(_ typingStart: TypingStart, _ context: Context) -> Outcome { .reply("typingStart") }
    func typingEnd(_ typingEnd: TypingEnd, _ context: Context) -> Outcome { .reply("typingEnd") }
    func close(_ close: Close, _ context: Context) -> Outcome { .reply("close \(close.referenceIDs.count)") }
    func unrecognized(_ unrecognized: Unrecognized, _ context: Context) -> Outcome {
        .reply("unrecognized \(unrecognized.markers.count)")
    }
}

/// A handler that subscribes to nothing.
struct SilentHandler: Handler {}

/// The error of a failing handler.
struct Refusal: Error, Equatable {
    let attempt: Int
}

/// A handler that throws ``Refusal`` for every text.
struct FailingHandler: TextHandler {
    func text(_ text: Text, _ context: Context) throws -> Outcome { throw Refusal(attempt: context.attempt) }
}

/// Creates the context in which a handler gets the fixture message `name`.
func context(
    _ name: String, capabilities: Capabilities = [], attempt: Int = 1,
    conversation: Conversation = Conversation()
) throws -> Context {
    let document = try JSONDocument(Fixture.bytes("messages/\(name).json"))
    var attributes = MessageAttributes.read(document: document)
    attributes.capabilities = capabilities
    return Context(
        event: InboundEvent.decode(message: document, attributes: attributes),
        conversation: conversation,
        deliveryID: DeliveryID("d-1"),
        attempt: attempt,
        deadline: .now + .seconds(30),
        logger: LogCollector().logger)
}
