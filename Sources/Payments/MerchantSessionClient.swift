import BalloonJSON
package import BalloonPOSIX
package import BalloonTransport

/// Asks Apple Pay for merchant sessions, one for each payment request.
///
/// `POST` of `{"merchantIdentifier", "domainName", "displayName", "initiative": "messaging", "initiativeContext"}` with the
/// merchant identity certificate (Apple Pay, "Requesting an Apple Pay Payment Session").
package struct MerchantSessionClient: Sendable {
    /// The time limit of each attempt; a request has at most three attempts.
    package static let timeLimit = Duration.seconds(10)
    private static let pauses: [Duration] = [.milliseconds(200), .seconds(1)]

    private let transport: any HTTPTransport
    private let now: @Sendable () -> Timestamp
    private let pause: @Sendable (Duration) async throws -> Void

    /// Creates a client that sends through `transport`, or through a new `CurlTransport` when `transport` is
    /// nil.
    ///
    /// Throws when the process has no file descriptors left for a new transport.
    package init(
        transport: (any HTTPTransport)? = nil, now: @escaping @Sendable () -> Timestamp = { .now() },
        pause: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) throws(TransportError) {
        self.transport = if let transport { transport } else { try CurlTransport() }
        self.now = now
        self.pause = pause
    }

    /// Requests a session for the payment request whose `paymentGatewayUrl` is `paymentGatewayURL`, byte for
    /// byte.
    ///
    /// Retries twice after a status of 5xx, and when the connection could not be established. Other failures,
    /// such as a timeout, are not retried, because Apple may have processed the request.
    package func session(
        for merchant: MerchantIdentity, paymentGatewayURL: String
    ) async throws(MerchantSessionFailure) -> IssuedSession {
        let request = Self.request(for: merchant, paymentGatewayURL: paymentGatewayURL)
        var pauses = Self.pauses[...]
        while true {
            do throws(MerchantSessionFailure) {
                return try await ask(request, merchant)
            } catch {
                guard Self.isRetriedAtOnce(error), let next = pauses.popFirst() else { throw error }
                do { try await pause(next) } catch { throw .unreachable(.cancelled) }
            }
        }
    }

    private func ask(
        _ request: TransportRequest, _ merchant: MerchantIdentity
    ) async throws(MerchantSessionFailure) -> IssuedSession {
        let answer: TransportResponse
        do {
            answer = try await transport.send(request)
        } catch TransportError.responseTooLarge {
            throw .malformed
        } catch {
            throw .unreachable(error as? TransportError ?? .failed(code: 0))
        }
        switch answer.status {
        case 200:
            return try IssuedSession(answer.body, identifierHash: merchant.identifierHash, at: now())
        case 500...: throw .unavailable(status: answer.status)
        default: throw .refused(status: answer.status)
        }
    }

    private static func isRetriedAtOnce(_ failure: MerchantSessionFailure) -> Bool {
        switch failure {
        case .unavailable, .unreachable(.connectionFailed), .unreachable(.hostUnresolved),
            .unreachable(.tlsFailed):
            true
        case .unreachable, .refused, .malformed, .expired, .otherMerchant: false
        }
    }

    private static func request(
        for merchant: MerchantIdentity, paymentGatewayURL: String
    ) -> TransportRequest {
        let body = JSONWriter.object([
            "merchantIdentifier": merchant.merchantIdentifier, "domainName": merchant.domainName,
            "displayName": merchant.displayName, "initiative": "messaging",
            "initiativeContext": paymentGatewayURL,
        ])
        var request = TransportRequest(
            method: "POST", url: merchant.sessionURL,
            headers: [("content-type", "application/json"), ("accept", "application/json")], body: body,
            timeout: timeLimit, connectTimeout: timeLimit,
            maximumResponseBytes: IssuedSession.maximumBytes)
        request.clientCertificate = ClientCertificate(
            certificateFile: merchant.certificateFile, keyFile: merchant.keyFile)
        request.authoritiesFile = merchant.authoritiesFile
        return request
    }
}
