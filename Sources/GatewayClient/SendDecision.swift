import BalloonTransport

/// The consequence of one attempt to send a reply.
package enum SendDecision: Equatable, Sendable {
    /// Apple accepted the message; it is never sent again.
    case accepted(status: Int)
    /// The message can never be sent; without a status, this side found the reason.
    case refused(status: Int?, reason: String)
    /// The credential or the business was refused, possibly not the message; the answers to other replies
    /// decide.
    case credentialRefused(status: Int, reason: String)
    /// The same message may be accepted later, not before `atLeast`, where the gateway asked for that.
    ///
    /// `isOutage` tells whether the failure concerns the gateway and not only this message.
    case wait(reason: String, atLeast: Duration?, isOutage: Bool)
    /// The server is stopping: the reply stays queued.
    case interrupted
}

extension SendDecision {
    /// Maps an error of the gateway client to a decision.
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
                // A wrong clock also makes a certificate invalid: the message is not at fault.
                self = .wait(reason: "\(error)", atLeast: nil, isOutage: !call.isFileTransfer)
            case .contentFailed: self = .wait(reason: "\(error)", atLeast: nil, isOutage: false)
            // Apple may have accepted the message: each further attempt could show it once more.
            case .requestInvalid, .responseTooLarge: self = .refused(status: nil, reason: "\(error)")
            case .cancelled: self = .interrupted
            }
        // Only the calls before the message itself, for files and references, have answers with content; the
        // next attempt repeats them.
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
        // protocol.md 1.5: the gateway uses this status for the credential. A file host uses it for the
        // upload address, which the next attempt requests again.
        case 401, 403:
            call.isFileTransfer
                ? .wait(reason: description, atLeast: nil, isOutage: false)
                : .credentialRefused(status: status, reason: reason)
        // The answer is not the gateway's: it comes from a proxy, or the address is wrong.
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
