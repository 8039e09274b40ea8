public import BusinessMessages

/// The code of a business that answers its customers.
///
/// A handler subscribes to a kind of message by conforming to the protocol of that kind. The server calls the
/// protocol's method after the event is on disk, and again when the method throws. Calls for one conversation
/// never overlap. Only the returned ``Outcome`` decides the next step. The handler should return before
/// ``Context/deadline``, because a later answer is dropped.
public protocol Handler: Sendable {}

/// A handler of texts, with or without attachments.
public protocol TextHandler: Handler {
    /// Answers a text; its `tapback` distinguishes reactions from texts.
    func text(_ text: Text, _ context: Context) async throws -> Outcome
}

/// A handler of choices in quick replies.
public protocol QuickReplyHandler: Handler {
    /// Answers the chosen item.
    func quickReply(_ quickReply: QuickReply, _ context: Context) async throws -> Outcome
}

/// A handler of items chosen in list pickers.
public protocol ListPickerHandler: Handler {
    /// Answers the chosen items.
    func listPicker(_ listPicker: ListPicker, _ context: Context) async throws -> Outcome
}

/// A handler of time slots chosen in time pickers.
public protocol TimePickerHandler: Handler {
    /// Answers the chosen time slots.
    func timePicker(_ timePicker: TimePicker, _ context: Context) async throws -> Outcome
}

/// A handler of submitted forms.
public protocol FormHandler: Handler {
    /// Answers a form; the answers of a private form must not be logged.
    func form(_ form: Form, _ context: Context) async throws -> Outcome
}

/// A handler of authentication results.
public protocol AuthenticationHandler: Handler {
    /// Answers the result of a sign-in, successful or not.
    func authentication(_ authentication: Authentication, _ context: Context) async throws -> Outcome
}

/// A handler of Apple Pay results.
public protocol ApplePayHandler: Handler {
    /// Answers the result of a payment, successful or not.
    func applePay(_ applePay: ApplePay, _ context: Context) async throws -> Outcome
}

/// A handler of messages from iMessage apps.
public protocol AppHandler: Handler {
    /// Answers a message that the customer sent from an iMessage app.
    func app(_ app: App, _ context: Context) async throws -> Outcome
}

/// A handler of answers to invitations.
public protocol InvitationHandler: Handler {
    /// Answers an accepted invitation; a declined invitation goes to the ``CloseHandler``.
    func invitation(_ invitation: Invitation, _ context: Context) async throws -> Outcome
}

/// A handler that is called when a customer begins to type.
public protocol TypingStartHandler: Handler {
    /// Records that the customer types; a reply before the customer's first message would be impolite.
    func typingStart(_ typingStart: TypingStart, _ context: Context) async throws -> Outcome
}

/// A handler that is called when a customer stops typing.
public protocol TypingEndHandler: Handler {
    /// Records that the customer stopped typing; a reply before the customer's first message would be
    /// impolite.
    func typingEnd(_ typingEnd: TypingEnd, _ context: Context) async throws -> Outcome
}

/// A handler of closed conversations and declined invitations.
public protocol CloseHandler: Handler {
    /// Records that the conversation is closed; Apple's policy forbids replies until the customer writes
    /// again.
    func close(_ close: Close, _ context: Context) async throws -> Outcome
}

/// A handler that is called when one of its replies did not reach the customer.
public protocol ReplyFailedHandler: Handler {
    /// Answers the failure of a reply with other replies in the same conversation, most often plain text.
    ///
    /// The replies of this answer are sent like any others. If one of them fails too, this method is not
    /// called for that failure.
    func replyFailed(_ failure: ReplyFailure, _ context: Context) async throws -> Outcome
}

/// A handler that is told when a customer agrees to later messages or withdraws.
public protocol ConsentHandler: Handler {
    /// Records the customer's answer, which the server has confirmed.
    func consent(_ consent: ConsentChange, _ context: Context) async throws -> Outcome
}

/// A handler of messages whose kind is unknown.
public protocol UnrecognizedHandler: Handler {
    /// Answers a message of unknown kind; its JSON is the `message` of ``Context/event``.
    func unrecognized(_ unrecognized: Unrecognized, _ context: Context) async throws -> Outcome
}
