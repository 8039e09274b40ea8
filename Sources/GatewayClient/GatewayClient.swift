import BalloonPOSIX
package import BalloonTransport
package import BusinessMessages
package import Logging

/// Speaks to Apple's gateway: sends messages and fetches what is behind a payload reference.
package final class GatewayClient: Sendable {
    let configuration: GatewayConfiguration
    let downloadPolicy: DownloadPolicy
    private let baseURL: String
    private let isPlainHTTP: Bool
    private let transport: any HTTPTransport
    private let token: GatewayToken
    private let clock: any Clock<Duration>
    private let logger: Logger

    /// Makes a client with a ``CurlTransport`` of its own unless one is given; `clock` is what waits between attempts.
    ///
    /// Throws when the transport cannot be made for lack of descriptors.
    package init(
        configuration: GatewayConfiguration, transport: (any HTTPTransport)? = nil,
        clock: any Clock<Duration> = ContinuousClock(), logger: Logger
    ) throws(TransportError) {
        self.configuration = configuration
        self.transport = if let transport { transport } else { try CurlTransport() }
        self.clock = clock
        self.logger = logger
        downloadPolicy = DownloadPolicy(hosts: configuration.downloadHosts)
        token = GatewayToken(mspID: configuration.mspID, secret: configuration.secret)
        var baseURL = configuration.baseURL
        while baseURL.hasSuffix("/") { baseURL.removeLast() }
        self.baseURL = baseURL
        isPlainHTTP = isLoopback(baseURL)
    }

    /// Sends a message's body, as ``OutboundMessage/encode(id:from:to:)`` writes it, until Apple takes it or refuses it.
    ///
    /// Each attempt has the same id. Whether Apple recognises one that it has already taken is not established, so a
    /// message whose answer was lost may show up twice. Apple MSP API, "Sending Messages".
    package func send(
        _ body: [UInt8], id: MessageID, from business: BusinessID, to customer: CustomerID
    ) async throws(GatewayError) -> GatewayAcceptance {
        let fields = [
            ("id", id.rawValue), ("source-id", business.rawValue), ("destination-id", customer.rawValue),
            ("auto-reply", "true"), ("content-type", "application/json"),
        ]
        let answer = try await perform(
            .message, request("POST", .message, fields, body: body), until: nil, hiding: [customer.rawValue])
        return GatewayAcceptance(status: answer.response.status, attempts: answer.attempts)
    }

    /// A request of the gateway itself, signed when it is sent.
    func request(
        _ method: String, _ call: GatewayCall, _ fields: [(name: String, value: String)], body: [UInt8] = [],
        maximumResponseBytes: Int = 1 << 20
    ) -> TransportRequest {
        let authorization = "Bearer " + token.token(now: SystemClock.secondsSince1970())
        return TransportRequest(
            method: method, url: "\(baseURL)/\(call)",
            headers: [(name: "authorization", value: authorization)] + fields, body: body,
            timeout: configuration.requestTimeout, connectTimeout: configuration.connectTimeout,
            maximumResponseBytes: maximumResponseBytes, allowsPlainHTTP: isPlainHTTP)
    }

    /// Sends `request` until it is answered with 2xx, as often and for as long as the policy and the deadline say.
    func perform(
        _ call: GatewayCall, _ request: TransportRequest, until deadline: Deadline?, hiding: [String] = []
    ) async throws(GatewayError) -> (response: TransportResponse, attempts: Int) {
        var request = request
        var attempt = 0
        while true {
            attempt += 1
            if let remaining = deadline?.remaining {
                guard remaining > .zero else { throw .deadlineExceeded }
                request.timeout = min(request.timeout, remaining)
            }
            let outcome = await outcome(of: call, request, attempt: attempt, hiding: hiding)
            switch outcome {
            case .answered(let response): return (response, attempt)
            case .final(let error): throw error
            case .failed(let error, let retryAfter):
                let delay = configuration.retries.delay(
                    afterAttempt: attempt, retryAfter: retryAfter, jitter: .random(in: 0...1))
                guard let delay, deadline.map({ delay < $0.remaining }) ?? true else { throw error }
                logger.info(
                    "the gateway did not answer well, trying again",
                    metadata: ["call": "\(call)", "attempt": "\(attempt)", "error": "\(error)"])
                do { try await clock.sleep(for: delay) } catch { throw .cancelled }
            }
        }
    }

    /// What became of one attempt.
    private enum Outcome {
        case answered(TransportResponse)
        case failed(GatewayError, retryAfter: Duration?)
        case final(GatewayError)
    }

    private func outcome(
        of call: GatewayCall, _ request: TransportRequest, attempt: Int, hiding: [String]
    ) async -> Outcome {
        do {
            let response = try await transport.send(request)
            switch response.status {
            case 200..<300: return .answered(response)
            case 408, 429, 500...:
                return .failed(
                    .unavailable(call, status: response.status, attempts: attempt),
                    retryAfter: Duration(retryAfter: response.header("retry-after")))
            default:
                let reason = GatewayReason(response.body, hiding: hiding)
                return .final(.refused(call, status: response.status, reason: reason))
            }
        } catch TransportError.cancelled {
            return .final(.cancelled)
        } catch let error as TransportError {
            let failure = GatewayError.unreachable(call, error, attempts: attempt)
            return error.isRetryable ? .failed(failure, retryAfter: nil) : .final(failure)
        } catch is CancellationError {
            return .final(.cancelled)
        } catch {
            // A transport throws nothing else; should one, it counts as the network's failure.
            return .failed(.unreachable(call, .failed(code: 0), attempts: attempt), retryAfter: nil)
        }
    }
}

/// Only loopback is spoken to without TLS: a token that crosses a network in the clear is anybody's.
private func isLoopback(_ baseURL: String) -> Bool {
    guard let parts = try? URLParts(baseURL), parts.scheme == "http" else {
        // An address that is no URL is refused by the transport, with the right error.
        return false
    }
    return SocketAddress("\(parts.host):\(parts.port ?? 80)")?.isLoopback ?? false
}
