import BalloonTransport

/// The conclusion from one attempt to send a reply: whether the reply is sent, refused, or must be retried.
package enum SendDecision: Equatable, Sendable {
    /// Apple accepted the message; it is never sent again.
    case accepted(status: Int)
    /// The message can never be sent; `status` is nil when the reason is not an answer of Apple.
    case refused(status: Int?, reason: String)
    /// Apple refused with 401 or 403: the credential, the business or this message is at fault.
    ///
    /// The answers to other replies show which: when Apple accepts them, the credential is good.
    case credentialRefused(status: Int, reason: String)
    /// The same message may be accepted later; `atLeast` is the wait that the gateway asked for, if any.
    ///
    /// `isOutage` is true when the gateway is at fault and not only this message.
    case wait(reason: String, atLeast: Duration?, isOutage: Bool)
    /// The server is stopping: the reply stays queued.
    case interrupted

    /// Maps an error of the gateway client to a decision.
    package init(_ error: GatewayError) {
        switch error {
        case .refused(let call, let status, let reason):
            let words =
                reason.description.isEmpty
                ? "Apple answered \(status) without a known reason" : reason.description
            self = .answered(call, status, reason: words, description: "\(error)")
        case .unavailable(let call, _, _, let retryAfter):
            self = .wait(reason: "\(error)", atLeast: retryAfter, isOutage: !call.isFileTransfer)
        case .unreachable(let call, let failure, _):
            switch failure {
            case .hostUnresolved, .connectionFailed, .tlsFailed, .timedOut, .interrupted, .failed,
                .certificateRefused, .schemeRefused, .addressRefused:
                // Retry even a refused certificate: a wrong clock causes this too, so the message is not at
                // fault.
                self = .wait(reason: "\(error)", atLeast: nil, isOutage: !call.isFileTransfer)
            case .contentFailed: self = .wait(reason: "\(error)", atLeast: nil, isOutage: false)
            // Do not retry after an oversized response: Apple may have accepted the message, which would
            // appear twice.
            case .requestInvalid, .responseTooLarge: self = .refused(status: nil, reason: "\(error)")
            case .cancelled: self = .interrupted
            }
        // These errors come from the calls for files and references, which precede the message. The next
        // attempt repeats those calls.
        case .answerMalformed, .downloadRefused, .lengthMismatch, .notKept, .deadlineExceeded:
            self = .wait(reason: "\(error)", atLeast: nil, isOutage: false)
        case .payloadTooLarge, .referenceMalformed: self = .refused(status: nil, reason: "\(error)")
        case .cancelled: self = .interrupted
        }
    }

    /// Maps a status that is neither 2xx nor transient to a decision.
    private static func answered(
        _ call: GatewayCall, _ status: Int, reason: String, description: String
    ) -> SendDecision {
        switch status {
        // The gateway uses these statuses for the credential. A file host uses them for the upload address,
        // which the next attempt requests again.
        case 401, 403:
            call.isFileTransfer
                ? .wait(reason: description, atLeast: nil, isOutage: false)
                : .credentialRefused(status: status, reason: reason)
        // The gateway never sends these statuses: a proxy answered, or the address is wrong.
        case ..<400, 407: .wait(reason: description, atLeast: nil, isOutage: !call.isFileTransfer)
        default: .refused(status: status, reason: reason)
        }
    }
}

extension GatewayCall {
    /// Whether the call goes to one of Apple's file hosts instead of the gateway.
    fileprivate var isFileTransfer: Bool {
        switch self {
        case .upload, .download: true
        case .message, .authenticate, .preUpload, .preDownload, .decodePayload, .encodePayload,
            .constructPayload:
            false
        }
    }
}
