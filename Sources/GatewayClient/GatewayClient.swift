import BalloonPOSIX
package import BalloonTransport
package import BusinessMessages
package import Logging
import Synchronization

/// The client of Apple's gateway: sends messages and resolves payload references.
package final class GatewayClient: Sendable {
    private struct Settings {
        let configuration: GatewayConfiguration
        let downloadPolicy: DownloadPolicy
        let baseURL: String
        let isPlainHTTP: Bool

        init(_ configuration: GatewayConfiguration) {
            self.configuration = configuration
            downloadPolicy = DownloadPolicy(hosts: configuration.downloadHosts)
            var baseURL = configuration.baseURL
            while baseURL.hasSuffix("/") { baseURL.removeLast() }
            self.baseURL = baseURL
            isPlainHTTP = isLoopback(baseURL)
        }
    }

    private let settings: Mutex<Settings>
    private let transport: any HTTPTransport
    /// A separate transport for content that is read from files or written to files.
    ///
    /// A slow disk blocks only this transport, so that it does not delay messages.
    private let fileTransport: any HTTPTransport
    private let token: GatewayToken
    private let clock: any Clock<Duration>
    let logger: Logger
    private let isSkewReported = OnceFlag()
    private let retryBudget = RetryBudget()
    /// The counts and durations of the requests so far.
    package let metrics = GatewayMetrics()
    /// The contents that Apple stores already, with the references to them.
    let uploads: KnownUploads

    /// Creates a client that sends through `transport`, or through its own ``CurlTransport``s if that is nil.
    ///
    /// `clock` measures the waits between attempts. `uploads` has the contents that Apple stores already, and
    /// records new ones. Throws when the transport cannot be created for lack of descriptors.
    package init(
        configuration: GatewayConfiguration, transport: (any HTTPTransport)? = nil,
        uploads: KnownUploads = KnownUploads(), clock: any Clock<Duration> = ContinuousClock(), logger: Logger
    ) throws(TransportError) {
        settings = Mutex(Settings(configuration))
        self.transport = if let transport { transport } else { try CurlTransport() }
        fileTransport = if let transport { transport } else { try CurlTransport() }
        self.clock = clock
        self.uploads = uploads
        self.logger = logger
        token = GatewayToken(mspID: configuration.mspID, secret: configuration.secret)
    }

    /// The configuration of the next requests.
    var configuration: GatewayConfiguration { settings.withLock { $0.configuration } }
    var downloadPolicy: DownloadPolicy { settings.withLock { $0.downloadPolicy } }

    /// Uses another configuration, with the same `mspID`, for the next requests.
    package func apply(_ configuration: GatewayConfiguration) {
        settings.withLock { $0 = Settings(configuration) }
        token.sign(with: configuration.secret)
    }

    /// Sends a message once; the caller decides about retries.
    ///
    /// `body` comes from ``OutboundMessage/encode(id:from:to:)``.
    ///
    /// It is not known whether Apple recognises the id of a message that it has already accepted. If the
    /// answer is lost and the message is sent again, it may therefore appear twice. Interactive content that
    /// Apple stores from an earlier message is sent by reference, and in full when Apple refuses the
    /// reference. Apple MSP API, "Sending Messages".
    package func send(
        _ body: [UInt8], id: MessageID, from business: BusinessID, to customer: CustomerID,
        options: SendOptions = SendOptions()
    ) async throws(GatewayError) -> GatewayAcceptance {
        guard body.count >= Self.minimumSharedBytes, let content = SharedContent(body),
            content.interactiveData.count >= Self.minimumSharedBytes
        else { return try await post(.message, body, id, business, customer, options) }
        return try await send(content, body, id: id, from: business, to: customer, options: options)
    }

    /// Sends an authentication request to `/authenticate`, in the same way as
    /// ``send(_:id:from:to:options:)``.
    ///
    /// Apple MSP API, "Authenticating a Customer".
    package func authenticate(
        _ body: [UInt8], id: MessageID, from business: BusinessID, to customer: CustomerID,
        options: SendOptions = SendOptions()
    ) async throws(GatewayError) -> GatewayAcceptance {
        try await post(.authenticate, body, id, business, customer, options)
    }

    func post(
        _ call: GatewayCall, _ body: [UInt8], _ id: MessageID, _ business: BusinessID, _ customer: CustomerID,
        _ options: SendOptions
    ) async throws(GatewayError) -> GatewayAcceptance {
        var fields = [
            ("id", id.rawValue), ("source-id", business.rawValue), ("destination-id", customer.rawValue),
            ("content-type", "application/json"), ("msp-agent", configuration.agent),
        ]
        if options.isAutomatic { fields.append(("auto-reply", "true")) }
        if options.isNotification { fields.append(("message-type", "notification")) }
        if options.wantsReference { fields.append(("include-data-ref", "true")) }
        let answer = try await attempt(
            call, request("POST", call, fields, body: body))
        // A 2xx status alone means acceptance: if the body has no reference, the message is accepted anyway.
        let reference =
            options.wantsReference
            ? (try? JSONDocument(answer.body))?.root["dataRef"].flatMap { UploadedPayload($0) } : nil
        return GatewayAcceptance(status: answer.status, reference: reference)
    }

    /// Drops the current token, so that the next request mints a new one even before the token expires.
    package func renewToken() { token.renew() }

    /// Returns a request to the gateway itself, with a valid token.
    func request(
        _ method: String, _ call: GatewayCall, _ fields: [(name: String, value: String)], body: [UInt8] = [],
        maximumResponseBytes: Int = 1 << 20
    ) -> TransportRequest {
        let (baseURL, isPlainHTTP) = settings.withLock { ($0.baseURL, $0.isPlainHTTP) }
        let configuration = configuration
        let authorization = "Bearer " + token.token(now: SystemClock.secondsSince1970())
        return TransportRequest(
            method: method, url: "\(baseURL)/\(call)",
            headers: [(name: "authorization", value: authorization)] + fields, body: body,
            timeout: configuration.requestTimeout, connectTimeout: configuration.connectTimeout,
            maximumResponseBytes: maximumResponseBytes, allowsPlainHTTP: isPlainHTTP,
            // A message whose answer is lost is sent again with the same id in any case.
            mustHappenOnce: false)
    }

    /// Sends with the current header names and, when Apple answers 400, once more with the older names.
    ///
    /// The closure `ask` sends one request. When both requests fail, throws the error of the first.
    func ask(
        _ call: GatewayCall, fields: [(name: String, value: String)],
        olderFields: [(name: String, value: String)],
        _ ask: (TransportRequest) async throws(GatewayError) -> TransportResponse
    ) async throws(GatewayError) -> [UInt8] {
        do {
            return try await ask(request("GET", call, fields)).body
        } catch {
            guard case .refused(_, status: 400, _) = error else { throw error }
            // The first refusal is the useful error: it concerns the current header names.
            guard let answer = try? await ask(request("GET", call, olderFields)) else { throw error }
            return answer.body
        }
    }

    /// Sends `request` and retries until the answer is 2xx, as far as the retry policy and the deadline
    /// allow.
    ///
    /// This is for requests that fetch content. Requests that send a message or upload its content use
    /// ``attempt(_:_:number:)``, which never retries: its caller decides about retries.
    func perform(
        _ call: GatewayCall, _ request: TransportRequest, until deadline: ContinuousClock.Instant?
    ) async throws(GatewayError) -> TransportResponse {
        var request = request
        var number = 0
        retryBudget.earn()
        while true {
            number += 1
            if let remaining = deadline.map({ $0 - .now }) {
                guard remaining > .zero else { throw .deadlineExceeded }
                request.timeout = min(request.timeout, remaining)
            }
            do {
                return try await attempt(call, request, number: number)
            } catch {
                guard error.isRetryable, error != .cancelled else { throw error }
                let delay = configuration.retries.delay(
                    afterAttempt: number, retryAfter: error.retryAfter, random: .random(in: 0...1))
                guard let delay, deadline.map({ .now + delay < $0 }) ?? true, retryBudget.spend() else {
                    throw error
                }
                logger.info(
                    "gateway request failed; retrying",
                    metadata: ["call": "\(call)", "attempt": "\(number)", "error": "\(error)"])
                do { try await clock.sleep(for: delay) } catch { throw .cancelled }
            }
        }
    }

    /// Sends `request` once; throws for every answer except 2xx.
    func attempt(
        _ call: GatewayCall, _ request: TransportRequest, number: Int = 1
    ) async throws(GatewayError) -> TransportResponse {
        let begun = SystemClock.nanoseconds()
        let response: TransportResponse
        do {
            let isStreamed = request.source != nil || request.sink != nil
            response = try await (isStreamed ? fileTransport : transport).send(request)
        } catch TransportError.cancelled {
            throw .cancelled
        } catch is CancellationError {
            throw .cancelled
        } catch {
            metrics.record(call, nil, nanoseconds: SystemClock.nanoseconds() &- begun)
            // HTTPTransport throws no other type; any other error is treated as a network failure.
            throw .unreachable(call, error as? TransportError ?? .failed(code: 0), attempts: number)
        }
        metrics.record(call, response.status, nanoseconds: SystemClock.nanoseconds() &- begun)
        lookAtClock(response)
        switch response.status {
        case 200..<300: return response
        case 408, 429, 500...:
            let retryAfter = Duration(
                retryAfter: response.header("retry-after"), now: SystemClock.secondsSince1970())
            throw .unavailable(call, status: response.status, attempts: number, retryAfter: retryAfter)
        default:
            throw .refused(
                call, status: response.status, reason: GatewayReason(response.body))
        }
    }

    private func lookAtClock(_ response: TransportResponse) {
        let now = SystemClock.secondsSince1970()
        guard let ahead = clockSkew(date: response.header("date"), now: now), isSkewReported.claim() else {
            return
        }
        logger.warning(
            "this machine's clock and the gateway's clock differ; tokens may be refused",
            metadata: ["ahead_seconds": "\(ahead)"])
    }
}

/// Returns whether `baseURL` is plain `http` to a loopback address.
///
/// Only such an address may be used without TLS: on a network, anyone could read and use a token sent in the
/// clear.
private func isLoopback(_ baseURL: String) -> Bool {
    guard let parts = try? URLParts(baseURL), parts.scheme == "http" else {
        // For a malformed address the transport later throws the right error.
        return false
    }
    return SocketAddress("\(parts.host):\(parts.port ?? 80)")?.isLoopback ?? false
}
