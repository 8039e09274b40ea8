public import BusinessMessages

/// Calls the handler's method for the event's kind.
///
/// Returns nil when the handler does not conform to the protocol of that kind. The method runs on the
/// caller's executor, so a blocking handler blocks that executor. Errors of the handler are rethrown.
public func dispatch(_ context: Context, to handler: any Handler) async throws -> Outcome? {
    if let handler = handler as? any EventHandler {
        return isSubscribed(handler, to: context.subscription) ? try await handler.handle(context) : nil
    }
    if let failure = context.replyFailure {
        return try await (handler as? any ReplyFailedHandler)?.replyFailed(failure, context)
    }
    if let consent = context.consent {
        return try await (handler as? any ConsentHandler)?.consent(consent, context)
    }
    return switch context.event.content {
    case .text(let text): try await (handler as? any TextHandler)?.text(text, context)
    case .quickReply(let reply): try await (handler as? any QuickReplyHandler)?.quickReply(reply, context)
    case .listPicker(let picker): try await (handler as? any ListPickerHandler)?.listPicker(picker, context)
    case .timePicker(let picker): try await (handler as? any TimePickerHandler)?.timePicker(picker, context)
    case .form(let form): try await (handler as? any FormHandler)?.form(form, context)
    case .authentication(let authentication):
        try await (handler as? any AuthenticationHandler)?.authentication(authentication, context)
    case .applePay(let payment): try await (handler as? any ApplePayHandler)?.applePay(payment, context)
    case .app(let app): try await (handler as? any AppHandler)?.app(app, context)
    case .invitation(let invitation):
        try await (handler as? any InvitationHandler)?.invitation(invitation, context)
    case .typingStart(let start): try await (handler as? any TypingStartHandler)?.typingStart(start, context)
    case .typingEnd(let end): try await (handler as? any TypingEndHandler)?.typingEnd(end, context)
    case .close(let close): try await (handler as? any CloseHandler)?.close(close, context)
    case .unrecognized(let message):
        try await (handler as? any UnrecognizedHandler)?.unrecognized(message, context)
    }
}

/// Returns the subscriptions of a handler, in the order of ``Subscription/all``.
public func subscriptions(of handler: any Handler) -> [Subscription] {
    Subscription.all.filter { isSubscribed(handler, to: $0) }
}

/// Returns whether a handler has the subscription.
public func isSubscribed(_ handler: any Handler, to subscription: Subscription) -> Bool {
    if let handler = handler as? any EventHandler { return handler.subscriptions.contains(subscription) }
    return switch subscription {
    case .kind(.text): handler is any TextHandler
    case .kind(.quickReply): handler is any QuickReplyHandler
    case .kind(.listPicker): handler is any ListPickerHandler
    case .kind(.timePicker): handler is any TimePickerHandler
    case .kind(.form): handler is any FormHandler
    case .kind(.authentication): handler is any AuthenticationHandler
    case .kind(.applePay): handler is any ApplePayHandler
    case .kind(.app): handler is any AppHandler
    case .kind(.invitation): handler is any InvitationHandler
    case .kind(.typingStart): handler is any TypingStartHandler
    case .kind(.typingEnd): handler is any TypingEndHandler
    case .kind(.close): handler is any CloseHandler
    case .kind(.unrecognized): handler is any UnrecognizedHandler
    case .replyFailed: handler is any ReplyFailedHandler
    case .consent: handler is any ConsentHandler
    }
}

/// Returns the kinds whose protocols a handler conforms to, in the order of `Kind`.
public func subscribedKinds(of handler: any Handler) -> [Kind] {
    Kind.allCases.filter { isSubscribed(handler, to: $0) }
}

/// Returns whether a handler conforms to a kind's protocol.
public func isSubscribed(_ handler: any Handler, to kind: Kind) -> Bool {
    isSubscribed(handler, to: .kind(kind))
}
