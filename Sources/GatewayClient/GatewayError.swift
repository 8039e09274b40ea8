package import BalloonPOSIX
package import BalloonTransport

/// Why Apple's gateway did not do what it was asked.
///
/// No case carries a token, a key, a customer's identity or text of ours.
package enum GatewayError: Error, Sendable, Equatable {
    /// Apple said no for good (3xx, 4xx): the request is wrong; correct it, or the MSP's settings, before it is sent again.
    case refused(GatewayCall, status: Int, reason: GatewayReason)
    /// Apple was asked as often as the policy says and always failed (408, 429, 5xx): its fault; try again later, and not
    /// before `retryAfter` is over, where Apple asked for it.
    case unavailable(GatewayCall, status: Int, attempts: Int, retryAfter: Duration? = nil)
    /// No whole answer came in any attempt: the network's fault, or a setting's; ``isRetryable`` tells which.
    case unreachable(GatewayCall, TransportError, attempts: Int)
    /// Apple answered 200 with something that its documents do not describe: look for a newer Balloon.
    case answerMalformed(GatewayCall)
    /// The reference cannot be used: the named field is missing or malformed. The sender's fault; nothing can be done.
    case referenceMalformed(field: String)
    /// Apple named an address that may not be asked: add its host to `gateway.downloadHosts` if it is Apple's.
    case downloadRefused(DownloadRefusal, host: String? = nil)
    /// The payload has more bytes than the configured limit: raise it if such payloads are expected.
    case payloadTooLarge(maximumBytes: Int)
    /// The payload has another length than its reference says: damaged on the way, or replaced; try again at once.
    case lengthMismatch(expectedBytes: Int, actualBytes: Int)
    /// The file cannot be kept here: the disk's fault, or a permission's; see to it, then try again.
    case notKept(SystemError)
    /// The time that the caller gave was not enough; try again, unless the reference has expired meanwhile.
    case deadlineExceeded
    /// The task was cancelled; the gateway may have got the request.
    case cancelled

    /// Whether the same request may succeed later without anybody changing anything.
    package var isRetryable: Bool {
        switch self {
        case .unavailable, .lengthMismatch, .deadlineExceeded, .cancelled: true
        case .unreachable(_, let error, _): error.isRetryable
        case .refused, .answerMalformed, .referenceMalformed, .downloadRefused, .payloadTooLarge,
            .notKept:
            false
        }
    }

    /// How long Apple wants to be left alone, when it said so at the last attempt.
    package var retryAfter: Duration? {
        if case .unavailable(_, _, _, let retryAfter) = self { retryAfter } else { nil }
    }

    /// Whether a reference could not be used because Apple does not have what it names, or has no more.
    package var isAboutExpiry: Bool {
        switch self {
        case .refused(.preDownload, let status, _), .refused(.download, let status, _):
            [403, 404, 410].contains(status)
        default: false
        }
    }
}

extension GatewayError: CustomStringConvertible {
    /// What happened, for who reads the log or the dead letters.
    package var description: String {
        switch self {
        case .refused(let call, let status, let reason): "\(call) was refused with \(status): \(reason)"
        case .unavailable(let call, let status, let attempts, _):
            "\(call) was answered with \(status) at attempt \(attempts)"
        case .unreachable(let call, let error, let attempts):
            "\(call) failed at attempt \(attempts): \(error.reason)"
        case .answerMalformed(let call): "\(call) was answered with something that Apple does not describe"
        case .referenceMalformed(let field): "the reference's \(field) is missing or malformed"
        case .downloadRefused(.host, let host):
            "Apple named the host \(host ?? ""), which is not in gateway.downloadHosts"
        case .downloadRefused(let refusal, _): "Apple named an address that is not asked: \(refusal.reason)"
        case .payloadTooLarge(let maximumBytes): "the payload has more than \(maximumBytes) bytes"
        case .lengthMismatch(let expected, let actual): "\(actual) bytes came instead of \(expected)"
        case .notKept(let error): "what came could not be kept: \(error)"
        case .deadlineExceeded: "the time for it was over"
        case .cancelled: "cancelled"
        }
    }

    /// The refusal of an address, with the host as the list would name it.
    static func refusing(_ url: String, _ refusal: DownloadRefusal) -> GatewayError {
        // What is no URL has no host.
        let parts = try? URLParts(url)
        return .downloadRefused(
            refusal, host: parts.map { "\($0.host)" + ($0.port.map { port in ":\(port)" } ?? "") })
    }
}

extension DownloadRefusal {
    /// What is wrong with the address.
    fileprivate var reason: String {
        switch self {
        case .malformed: "it is no absolute URL"
        case .scheme: "it is not https"
        case .userInformation: "it carries a user name"
        case .host: "its host is not in gateway.downloadHosts"
        case .port: "its port is not 443"
        }
    }
}
