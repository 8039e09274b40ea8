extension InboundEvent {
    /// A short summary of the event for people; it contains customer text, so it must not be logged.
    ///
    /// It contains neither answers of private forms nor authentication tokens.
    public var summary: String {
        switch content {
        case .text(let text): text.summary
        case .quickReply(let reply):
            reply.selectedItem?.title ?? reply.selectedIdentifier ?? reply.interaction.replyTitle
                ?? "quick reply"
        case .listPicker(let picker): picker.summary
        case .timePicker(let picker):
            picker.selectedTimeslot?.startTime ?? picker.interaction.replyTitle ?? "time picker"
        case .form(let form): form.summary
        case .authentication(let authentication): "authentication: \(authentication.status ?? "unknown")"
        case .applePay(let payment):
            "payment: \(payment.state?.rawValue ?? payment.interaction.replyTitle ?? "unknown")"
        case .app(let app): app.replyText ?? app.interaction.anyTitle ?? app.appName ?? "app"
        case .invitation(let invitation): invitation.title ?? invitation.response ?? "invitation"
        case .typingStart: "is writing"
        case .typingEnd: "stopped writing"
        case .close(let close):
            close.isDeclinedInvitation ? "declined an invitation" : "closed the conversation"
        case .unrecognized(let unrecognized): unrecognized.summary
        }
    }
}

extension Text {
    fileprivate var summary: String {
        let files = attachments.map { "[\($0.name ?? $0.mimeType ?? "attachment")]" }
        return ([plainBody].filter { !$0.isEmpty } + files).joined(separator: " ")
    }
}

extension ListPicker {
    fileprivate var summary: String {
        let titles = selectedItems.compactMap { $0.title ?? $0.identifier }
        return titles.isEmpty ? replyTitle ?? "list picker" : titles.joined(separator: ", ")
    }
}

extension Form {
    fileprivate var summary: String {
        guard !isPrivate else { return "a private form" }
        let answers = selections.flatMap(\.items).compactMap { $0.title ?? $0.value }
        return answers.isEmpty ? interaction.replyTitle ?? "form" : answers.joined(separator: ", ")
    }
}

extension Unrecognized {
    fileprivate var summary: String {
        ([type ?? "no type"] + markers + (excess.map { ["(\($0))"] } ?? [])).joined(separator: " ")
    }
}

extension Interaction {
    fileprivate var replyTitle: String? { replyMessage?.title }

    fileprivate var anyTitle: String? { replyMessage?.title ?? receivedMessage?.title }
}
