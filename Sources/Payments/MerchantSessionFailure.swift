package import BalloonTransport

/// The reason why there is no merchant session; it contains no text that came from the network.
package enum MerchantSessionFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// Apple refused the request: after 400 check the domain, after 417 the merchant identifier.
    case refused(status: Int)
    /// The service answered with 5xx each time; try again later.
    case unavailable(status: Int)
    /// There was no complete answer; try again later, unless the certificate or the address is wrong.
    case unreachable(TransportError)
    /// The answer is not a JSON object with the expiry of a session, or exceeds 64 KiB.
    case malformed
    /// The session that Apple issued has already expired; check the machine's clock.
    case expired
    /// The session was issued to another merchant identifier.
    case otherMerchant

    /// Whether the same request may succeed later without any change.
    package var isRetryable: Bool {
        switch self {
        case .unavailable: true
        case .unreachable(let error): error.isRetryable || error == .cancelled
        case .refused, .malformed, .expired, .otherMerchant: false
        }
    }

    /// The failure in words, with a hint for the operator.
    package var description: String {
        switch self {
        case .refused(400):
            "Apple Pay refused the merchant session with 400; verify \"domainName\" for the merchant identifier"
        case .refused(417):
            "Apple Pay refused the merchant session with 417; compare \"merchantIdentifier\" with the certificate"
        case .refused(let status):
            "Apple Pay refused the merchant session with \(status); check \"applePay\" of the business"
        case .unavailable(let status):
            "Apple Pay's service for merchant sessions answered \(status); it is asked again"
        case .unreachable(.certificateRefused):
            "the certificate of \"sessionURL\" is not valid; check the address, the clock and the authorities"
        case .unreachable(let error):
            "Apple Pay's service for merchant sessions gave no answer (\(error)); check the network and the merchant certificate"
        case .malformed: "the answer of \"sessionURL\" is not a merchant session; check the address"
        case .expired: "the merchant session has expired already; check the machine's clock"
        case .otherMerchant:
            "the merchant session is for another merchant; compare \"merchantIdentifier\" with the certificate"
        }
    }
}
