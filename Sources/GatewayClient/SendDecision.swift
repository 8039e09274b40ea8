import BalloonTransport

/// What one attempt to send a reply decides about the reply.
package enum SendDecision: Equatable, Sendable {
    /// Apple has the message; it is never sent again.
    case accepted(status: Int)
    /// The message cannot be sent, now or later; without a status this side found it out.
    case refused(status: Int?, reason: String)
    /// The credential, or the business, was refused and perhaps not the message; the other replies tell.
    case credentialRefused(status: Int, reason: String)
    /// The same message may be accepted later, not before `atLeast` where the gateway asked for it.
    ///
    /// `isOutage`: it says something about the gateway, not only about this message.
    case wait(reason: String, atLeast: Duration?, isOutage: Bool)
    /// The server stops: the reply stays queued.
    case interrupted
}

extension SendDecision {
    /// Decides by what the gateway client threw.
    package init(_ error: GatewayError) {
        switch error {
        case .refused(let call, let status, let reason):
            self = .answered(call, status, reason: "\(reason)", description: "\(error)")
        case .unavailable(let call, _, _, let retryAfter):
            self = .wait(reason: "\(error)", atLeast: retryAfter, isOutage: !call.isFileTransfer)
        case .unreachable(let call, let failure, _):
            switch failure {
            case .hostUnresolved, .connectionFailed, .tlsFailed, .timedOut, .interrupted, .failed,
                .certificateRefused, .schemeRefused, .addressRefused:
                // A certificate is refused for a wrong clock too: nothing of it is the message's fault.
                self = .wait(reason: "\(error)", atLeast: nil, isOutage: !call.isFileTransfer)
            case .contentFailed: self = .wait(reason: "\(error)", atLeast: nil, isOutage: false)
            // Apple may have taken the message: sending it again would show it twice, each time.
            case .requestInvalid, .responseTooLarge: self = .refused(status: nil, reason: "\(error)")
            case .cancelled: self = .interrupted
            }
        // Only what is sent before the message, its files and its reference, is answered with content; the next
        // attempt asks anew.
        case .answerMalformed, .downloadRefused, .lengthMismatch, .notKept, .deadlineExceeded:
            self = .wait(reason: "\(error)", atLeast: nil, isOutage: false)
        case .payloadTooLarge, .referenceMalformed: self = .refused(status: nil, reason: "\(error)")
        case .cancelled: self = .interrupted
        }
    }

    /// Decides by a status that is neither 2xx nor one of those that pass by themselves.
    private static func answered(
        _ call: GatewayCall, _ status: Int, reason: String, description: String
    ) -> SendDecision {
        switch status {
        // protocol.md 1.5: the gateway answers so for the credential. The host of an upload answers so for its address,
        // which is asked for anew at the next attempt.
        case 401, 403:
            call.isFileTransfer
                ? .wait(reason: description, atLeast: nil, isOutage: false)
                : .credentialRefused(status: status, reason: reason)
        // Something other than the gateway answered: a proxy, or the wrong address.
        case ..<400, 407: .wait(reason: description, atLeast: nil, isOutage: !call.isFileTransfer)
        default: .refused(status: status, reason: reason)
        }
    }
}

extension GatewayCall {
    /// Whether a host of Apple's file storage is asked, and not the gateway itself.
    fileprivate var isFileTransfer: Bool {
        switch self {
        case .upload, .download: true
        case .message, .authenticate, .preUpload, .preDownload, .decodePayload, .encodePayload,
            .constructPayload:
            false
        }
    }
}
