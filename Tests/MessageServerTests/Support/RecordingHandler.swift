import HandlerKit
import Synchronization

/// Records every event, and answers each with a text that names its kind.
final class RecordingHandler: TextHandler, QuickReplyHandler, ListPickerHandler, TimePickerHandler,
    FormHandler,
    AuthenticationHandler, ApplePayHandler, AppHandler, InvitationHandler, TypingStartHandler,
    TypingEndHandler,
    CloseHandler, UnrecognizedHandler
{
    private let contexts = Mutex<[Context]>([])

    var seen: [Context] { contexts.withLock { $0 } }

    private func note(_ context: Context) -> Outcome {
        contexts.withLock { $0.append(context) }
        return .reply("seen: \(context.event.kind.rawValue)")
    }

    func text(_: Text, _ context: Context) -> Outcome { note(context) }
    func quickReply(_: QuickReply, _ context: Context) -> Outcome { note(context) }
    func listPicker(_: ListPicker, _ context: Context) -> Outcome { note(context) }
    func timePicker(_: TimePicker, _ context: Context) -> Outcome { note(context) }
    func form(_: Form, _ context: Context) -> Outcome { note(context) }
    func authentication(_: Authentication, _ context: Context) -> Outcome { note(context) }
    func applePay(_: ApplePay, _ context: Context) -> Outcome { note(context) }
    func app(_: App, _ context: Context) -> Outcome { note(context) }
    func invitation(_: Invitation, _ context: Context) -> Outcome { note(context) }
    func typingStart(_: TypingStart, _ context: Context) -> Outcome { note(context) }
    func typingEnd(_: TypingEnd, _ context: Context) -> Outcome { note(context) }
    func close(_: Close, _ context: Context) -> Outcome { note(context) }
    func unrecognized(_: Unrecognized, _ context: Context) -> Outcome { note(context) }
}
