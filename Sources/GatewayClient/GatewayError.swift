package import BalloonPOSIX
package import BalloonTransport

/// The reason why a call to Apple's gateway failed.
///
/// No case contains a token, a key, the identity of a customer, or message text.
package enum GatewayError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Apple refused the request permanently (3xx, 4xx): correct the request or the MSP's settings.
    case refused(GatewayCall, status: Int, reason: GatewayReason)
    /// Apple answered every allowed attempt with 408, 429 or 5xx: try again later.
    ///
    /// `retryAfter` is the wait that Apple asked for, if any.
    case unavailable(GatewayCall, status: Int, attempts: Int, retryAfter: Duration? = nil)
    /// No attempt got a complete answer: the network is at fault if ``isRetryable``, otherwise a setting.
    case unreachable(GatewayCall, TransportError, attempts: Int)
    /// Apple accepted the request but returned content that its documentation does not describe: look for a
    /// newer version of Balloon.
    case answerMalformed(GatewayCall)
    /// The reference is unusable, because the named field is missing or malformed; a retry does not help.
    ///
    /// The sender is at fault.
    case referenceMalformed(field: String)
    /// Apple named an address that the policy refuses: add its host to `gateway.downloadHosts` if it belongs
    /// to Apple.
    case downloadRefused(DownloadRefusal, host: String? = nil)
    /// The payload exceeds the configured limit: raise the limit if such payloads are expected.
    case payloadTooLarge(maximumBytes: Int)
    /// The payload's length differs from its reference: it was damaged or replaced; try again at once.
    case lengthMismatch(expectedBytes: Int, actualBytes: Int)
    /// The file cannot be stored: correct the disk or the permission, then try again.
    case notKept(SystemError)
    /// The caller's deadline passed; try again, unless the reference has expired meanwhile.
    case deadlineExceeded
    /// The task was cancelled; the gateway may have received the request.
    case cancelled

    /// Whether the same request may succeed later without any change.
    package var isRetryable: Bool {
        switch self {
        case .unavailable, .lengthMismatch, .deadlineExceeded, .cancelled: true
        case .unreachable(_, let error, _): error.isRetryable
        case .refused, .answerMalformed, .referenceMalformed, .downloadRefused, .payloadTooLarge,
            .notKept:
            false
        }
    }

    /// The delay that Apple asked for in its last answer; nil when there was none.
    package var retryAfter: Duration? {
        if case .unavailable(_, _, _, let retryAfter) = self { retryAfter } else { nil }
    }

    /// Whether a reference failed because Apple does not have the referenced file, or no longer has it.
    package var isAboutExpiry: Bool {
        switch self {
        case .refused(.preDownload, let status, _), .refused(.download, let status, _):
            [403, 404, 410].contains(status)
        default: false
        }
    }

    /// The failure in words, for the log and the dead letters.
    package var description: String {
        switch self {
        case .refused(let call, let status, let reason):
            "\(call) was refused with \(status)" + (reason.description.isEmpty ? "" : ": \(reason)")
        case .unavailable(let call, let status, let attempts, _):
            "\(call) was answered with \(status) at attempt \(attempts)"
        case .unreachable(let call, let error, let attempts):
            "\(call) failed at attempt \(attempts): \(error.reason)"
        case .answerMalformed(let call):
            "\(call) was answered with content that Apple's documentation does not describe"
        case .referenceMalformed(let field): "the reference's \(field) is missing or malformed"
        case .downloadRefused(.host, let host):
            "Apple named the host \(host ?? ""), which is not in gateway.downloadHosts"
        case .downloadRefused(let refusal, _):
            "Apple named an address that is not allowed: \(refusal.rawValue)"
        case .payloadTooLarge(let maximumBytes): "the payload has more than \(maximumBytes) bytes"
        case .lengthMismatch(let expected, let actual): "\(actual) bytes arrived instead of \(expected)"
        case .notKept(let error): "the file could not be written to the local disk: \(error)"
        case .deadlineExceeded: "the deadline passed"
        case .cancelled: "cancelled"
        }
    }

    /// Returns the error for an address that the policy refused.
    ///
    /// The error has host and port in the form of an entry of `gateway.downloadHosts`.
    static func refusing(_ url: String, _ refusal: DownloadRefusal) -> GatewayError {
        // A text that is not a URL has no host.
        let parts = try? URLParts(url)
        return .downloadRefused(
            refusal, host: parts.map { "\($0.host)" + ($0.port.map { port in ":\(port)" } ?? "") })
    }
}
