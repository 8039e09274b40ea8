package import BalloonJSON
package import BalloonPOSIX
package import BalloonTransport
import BalloonWire
package import RetentionMessages

/// The Retention Messaging API of one app in one environment.
///
/// Each call carries a new token, and waits until Apple's rate limits allow it. Apple allows one call of each
/// kind per second, and ten per second to set default messages. In the sandbox it allows a tenth of these
/// rates.
package struct RetentionAPI: Sendable {
    /// The kinds of calls; each kind has its own rate limit.
    enum Call: Hashable {
        case uploadImage, deleteImage, images, uploadMessage, deleteMessage, messages
        case setDefault, getDefault, deleteDefault, setURL, getURL, deleteURL, startTest, getTest
    }

    /// The environment.
    package let environment: RetentionEnvironment
    private let identity: AppIdentity
    private let baseURL: String
    private let transport: any HTTPTransport
    private let clock: TimeSource
    /// Delays calls to keep Apple's rate limits; nil for a simulator without limits.
    private let pacer: CallPacer?

    /// The maximum bytes of an answer: lists of 2,000 entries have 300 KB.
    private static let maximumAnswerBytes = 4 << 20
    /// The validity of a token in seconds; Apple allows at most an hour.
    private static let tokenSeconds = 300
    /// The maximum number of attempts of one call, with waits in between.
    private static let maximumAttempts = 4
    /// The longest wait after an answer 429; a call fails when the answer asks for a longer wait.
    private static let longestWait = Duration.seconds(120)

    /// Creates a client with a new `CurlTransport`; throws when the transport cannot be created.
    ///
    /// `simulator` is the address of a simulator without rate limits; nil means Apple's address.
    package init(
        _ environment: RetentionEnvironment, _ identity: AppIdentity, simulator: String?
    ) throws(TransportError) {
        self.init(
            environment, identity, transport: try CurlTransport(), baseURL: simulator,
            isPaced: simulator == nil)
    }

    /// Creates a client that sends through `transport`.
    ///
    /// `baseURL` replaces Apple's address by that of a simulator, which may use plain HTTP. If `isPaced` is
    /// false, calls do not wait for Apple's rate limits.
    package init(
        _ environment: RetentionEnvironment, _ identity: AppIdentity, transport: any HTTPTransport,
        baseURL: String? = nil, isPaced: Bool = true, clock: TimeSource = .system
    ) {
        self.environment = environment
        self.identity = identity
        self.transport = transport
        self.clock = clock
        self.baseURL = baseURL ?? Self.address(of: environment)
        pacer = isPaced ? CallPacer(environment, clock: clock) : nil
    }

    /// Apple's address of an environment.
    package static func address(of environment: RetentionEnvironment) -> String {
        switch environment {
        case .sandbox: "https://api.storekit-sandbox.apple.com"
        case .production: "https://api.storekit.apple.com"
        }
    }

    /// The time that Apple's rate limits demand for these numbers of calls; zero for a simulator without limits.
    package func pacedTime(
        uploadedImages: Int = 0, uploadedMessages: Int = 0, readDefaults: Int = 0
    ) -> Duration {
        guard let pacer else { return .zero }
        return pacer.interval(of: .uploadImage) * uploadedImages
            + pacer.interval(of: .uploadMessage) * uploadedMessages
            + pacer.interval(of: .getDefault) * readDefaults
    }

    /// Uploads an image; a second upload with the same identifier fails with `imageExists`.
    package func uploadImage(
        _ id: RetentionID, _ size: RetentionImageSize, png: [UInt8]
    ) async throws(RetentionAPIError) {
        _ = try await send(
            .uploadImage, "PUT", "image/\(id)?imageSize=\(size.rawValue)", body: png, contentType: "image/png"
        )
    }

    /// Deletes an image; fails with `imageInUse` while a message uses the image.
    package func deleteImage(_ id: RetentionID) async throws(RetentionAPIError) {
        _ = try await send(.deleteImage, "DELETE", "image/\(id)")
    }

    /// The states of all images.
    package func images() async throws(RetentionAPIError) -> [RetentionID: RetentionState] {
        let answer = try await document(send(.images, "GET", "image/list"))
        return try Self.states(answer["imageIdentifiers"], id: "imageIdentifier", state: "imageState")
    }

    /// Uploads a message; a second upload with the same identifier fails with `messageExists`.
    package func uploadMessage(
        _ id: RetentionID, _ message: RetentionMessage
    ) async throws(RetentionAPIError) {
        _ = try await send(.uploadMessage, "PUT", "message/\(id)", body: message.json)
    }

    /// Deletes a message.
    package func deleteMessage(_ id: RetentionID) async throws(RetentionAPIError) {
        _ = try await send(.deleteMessage, "DELETE", "message/\(id)")
    }

    /// The states of all messages.
    package func messages() async throws(RetentionAPIError) -> [RetentionID: RetentionState] {
        let answer = try await document(send(.messages, "GET", "message/list"))
        return try Self.states(answer["messageIdentifiers"], id: "messageIdentifier", state: "messageState")
    }

    /// Makes an approved message the default of a product and locale; may be repeated.
    package func setDefault(
        _ key: DefaultMessages.Key, to message: RetentionID
    ) async throws(RetentionAPIError) {
        let body = JSONWriter.object { $0.field("messageIdentifier", message.text) }
        _ = try await send(.setDefault, "PUT", Self.path(key), body: body)
    }

    /// The default message of a product and locale; nil when none is set.
    package func defaultMessage(
        _ key: DefaultMessages.Key
    ) async throws(RetentionAPIError) -> RetentionID? {
        try await RetentionAPIError.unless(.defaultMessageNotFound) { () async throws(RetentionAPIError) in
            let answer = try await document(send(.getDefault, "GET", Self.path(key)))
            guard let id = answer["messageIdentifier"]?.string.flatMap({ RetentionID($0) }) else {
                throw .unreadable
            }
            return id
        }
    }

    /// Deletes the default message of a product and locale; may be repeated.
    package func deleteDefault(_ key: DefaultMessages.Key) async throws(RetentionAPIError) {
        _ = try await send(.deleteDefault, "DELETE", Self.path(key))
    }

    /// Sets the real-time URL, to which the App Store sends its questions.
    package func setRealtimeURL(_ url: RealtimeURL) async throws(RetentionAPIError) {
        let body = JSONWriter.object { $0.field("realtimeURL", url.text) }
        _ = try await send(.setURL, "PUT", "realtime/url", body: body)
    }

    /// The real-time URL, to which the App Store sends its questions; nil when none is set.
    package func realtimeURL() async throws(RetentionAPIError) -> String? {
        try await RetentionAPIError.unless(.realtimeURLNotFound) { () async throws(RetentionAPIError) in
            let answer = try await document(send(.getURL, "GET", "realtime/url"))
            guard let url = answer["realtimeURL"]?.string else { throw .unreadable }
            return url
        }
    }

    /// Deletes the real-time URL, to which the App Store sends its questions.
    package func deleteRealtimeURL() async throws(RetentionAPIError) {
        _ = try await send(.deleteURL, "DELETE", "realtime/url")
    }

    /// Starts a performance test with a subscription of the sandbox; returns its `requestId` and `config`.
    package func startPerformanceTest(
        originalTransactionID: String
    ) async throws(RetentionAPIError) -> JSONValue {
        let body = JSONWriter.object { $0.field("originalTransactionId", originalTransactionID) }
        return try await document(send(.startTest, "POST", "performanceTest", body: body))
    }

    /// The result of a performance test: `result` is `PENDING`, `PASS` or `FAIL`.
    package func performanceTest(_ requestID: RetentionID) async throws(RetentionAPIError) -> JSONValue {
        try await document(send(.getTest, "GET", "performanceTest/result/\(requestID)"))
    }

    /// The path of a default message; products and locales contain no character that a path must escape.
    private static func path(_ key: DefaultMessages.Key) -> String { "default/\(key.product)/\(key.locale)" }

    private static func states(
        _ list: JSONValue?, id: String, state: String
    ) throws(RetentionAPIError) -> [RetentionID: RetentionState] {
        guard let list, list.kind == .array else { throw .unreadable }
        var states: [RetentionID: RetentionState] = [:]
        for element in list.elements {
            guard let id = element[id]?.string.flatMap({ RetentionID($0) }) else { throw .unreadable }
            // Treat a state that Apple may add later as pending, because it is not known to be an approval.
            states[id] = element[state]?.string.flatMap { RetentionState(rawValue: $0) } ?? .pending
        }
        return states
    }

    private func document(_ response: TransportResponse) throws(RetentionAPIError) -> JSONValue {
        guard let root = (try? JSONDocument(response.body))?.root, root.kind == .object else {
            throw .unreadable
        }
        return root
    }

    /// Sends a call when its rate limit allows it; retries after 429 and after an error that Apple calls
    /// temporary.
    private func send(
        _ call: Call, _ method: String, _ path: String, body: [UInt8] = [],
        contentType: String = "application/json"
    ) async throws(RetentionAPIError) -> TransportResponse {
        var attempt = 1
        while true {
            try await pacer?.wait(for: call)
            do throws(RetentionAPIError) {
                return try await sendOnce(method, path, body, contentType)
            } catch {
                guard attempt < Self.maximumAttempts, let wait = wait(after: error, attempt: attempt) else {
                    throw error
                }
                attempt += 1
                try await clock.wait(wait)
            }
        }
    }

    /// The wait before the next attempt; nil when the call is not retried.
    private func wait(after error: RetentionAPIError, attempt: Int) -> Duration? {
        switch error {
        case .rateLimited(let until):
            guard let until else { return .seconds(1 << attempt) }
            let (milliseconds, overflow) = until.subtractingReportingOverflow(clock.milliseconds())
            guard !overflow else { return nil }
            let wait = max(.zero, Duration.milliseconds(milliseconds))
            return wait <= Self.longestWait ? wait : nil
        case .refused where error.knownCode == .internalErrorToRetry: return .seconds(1 << attempt)
        case .refused, .noAccess, .unauthorized, .unreadable, .unreachable, .cancelled, .key: return nil
        }
    }

    private func sendOnce(
        _ method: String, _ path: String, _ body: [UInt8], _ contentType: String
    ) async throws(RetentionAPIError) -> TransportResponse {
        var headers = [(name: "authorization", value: "Bearer " + (try token()))]
        if !body.isEmpty { headers.append((name: "content-type", value: contentType)) }
        let request = TransportRequest(
            method: method, url: "\(baseURL)/inApps/v1/messaging/\(path)", headers: headers, body: body,
            maximumResponseBytes: Self.maximumAnswerBytes, allowsPlainHTTP: !baseURL.hasPrefix("https://"))
        let response: TransportResponse
        do { response = try await transport.send(request) } catch let error as TransportError {
            throw .unreachable(error)
        } catch {
            throw .cancelled
        }
        guard response.status != 200 else { return response }
        throw RetentionAPIError(response)
    }

    private func token() throws(RetentionAPIError) -> String {
        let now = clock.milliseconds() / 1000
        let claims = JSONWriter.object([
            "iss": identity.issuerID, "iat": now, "exp": now + Self.tokenSeconds,
            "aud": "appstoreconnect-v1", "bid": identity.bundleID,
        ])
        do { return try identity.key.sign(claims, keyID: identity.keyID) } catch { throw .key }
    }
}
