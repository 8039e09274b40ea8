import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
package import BalloonWire
package import Logging
package import RetentionMessages
import Synchronization

/// The Retention Messaging API of one app on a loopback address, with the App Store's states, limits and errors.
///
/// It checks the token of each call. In the sandbox everything is approved at once; in production the owner decides
/// with `review(_:)`. The performance test is not simulated: it answers 404.
package final class SimulatedRetentionAPI: Sendable {
    /// The names that a call's token must have.
    package struct App: Sendable {
        let bundleID: String
        let issuerID: String
        let keyID: String
        let key: PublicKey

        /// Creates the names, with the key that verifies tokens.
        package init(bundleID: String, issuerID: String, keyID: String, key: PublicKey) {
            self.bundleID = bundleID
            self.issuerID = issuerID
            self.keyID = keyID
            self.key = key
        }
    }

    /// A deviation from a good answer at the next call.
    package enum Misbehaviour: Sendable, Equatable {
        /// The call has its effect, and the connection closes without an answer.
        case losesAnswer
        /// The call has no effect and gets 429; the next may come at this time in milliseconds since 1970.
        case limitsRate(untilMilliseconds: Int)
        /// The call has no effect and gets this error code.
        case fails(RetentionErrorCode)
    }

    private struct State {
        var memory = RetentionMemory()
        var misbehaviours: [Misbehaviour] = []
        var calls: [String] = []
    }

    private let app: App
    private let environment: RetentionEnvironment
    private let logger: Logger
    private let now: @Sendable () -> Int
    private let state = Mutex(State())
    private let server = Mutex<HTTPServer?>(nil)

    /// Creates an API without content; `now` is the clock for tokens, in seconds since 1970.
    package init(
        _ app: App, _ environment: RetentionEnvironment, logger: Logger,
        now: @escaping @Sendable () -> Int = { SystemClock.secondsSince1970() }
    ) {
        self.app = app
        self.environment = environment
        self.logger = logger
        self.now = now
    }

    /// Starts serving on a free loopback port and returns the address for a client, `http://127.0.0.1:PORT`.
    package func start() async throws -> String {
        let methods: [HTTPMethod] = [.get, .put, .post, .delete]
        let routes = methods.map { method in
            HTTPRoute(method, Self.prefix + "*", body: .collected(maximumBytes: 64 << 20)) {
                [weak self] request, responder in
                self?.answer(request, responder)
            }
        }
        let http = try HTTPServer(
            listeners: [HTTPListener(.tcp(host: "127.0.0.1", port: 0), routes: routes)], shards: 1,
            logger: logger)
        let address = try await http.start()[0]
        server.withLock { $0 = http }
        return "http://\(address)"
    }

    /// Stops serving; the content is kept.
    package func stop() async {
        await server.withLock { $0.take() }?.stop(within: .zero)
    }

    /// Misbehaves at the next call that has a valid token, after earlier misbehaviours.
    package func misbehave(_ misbehaviour: Misbehaviour) {
        state.withLock { $0.misbehaviours.append(misbehaviour) }
    }

    /// Decides about everything that is pending, as Apple's reviewers do.
    package func review(_ decide: (RetentionID) -> RetentionState) {
        state.withLock { state in
            for id in state.memory.images.keys where state.memory.images[id]?.state == .pending {
                state.memory.images[id]?.state = decide(id)
            }
            for id in state.memory.messages.keys where state.memory.messages[id]?.state == .pending {
                state.memory.messages[id]?.state = decide(id)
            }
        }
    }

    /// The calls with a valid token so far, as `PUT message/a1b2…`.
    package var calls: [String] { state.withLock { $0.calls } }
    /// The identifiers of all messages.
    package var messages: Set<RetentionID> { state.withLock { Set($0.memory.messages.keys) } }
    /// The identifiers of all images.
    package var images: Set<RetentionID> { state.withLock { Set($0.memory.images.keys) } }
    /// The default messages.
    package var defaults: [DefaultMessages.Key: RetentionID] { state.withLock { $0.memory.defaults } }

    private static let authorization = HTTPFieldName("authorization")
    private static let prefix = "/inApps/v1/messaging/"

    private func answer(_ request: HTTPRequest, _ responder: HTTPResponder) -> HTTPResponse? {
        guard isAuthorized(request) else { return HTTPResponse(.unauthorized, text: "Unauthenticated\n") }
        let path = String(decoding: request.path.dropFirst(Self.prefix.utf8.count), as: UTF8.self)
        let call = RetentionMemory.Call(
            method: request.method.rawValue, path: path.split(separator: "/").map(String.init),
            query: String(decoding: request.query, as: UTF8.self), body: Array(request.body))
        let (answer, isLost) = state.withLock { state -> (RetentionMemory.Answer, Bool) in
            state.calls.append("\(call.method) \(path)")
            let misbehaviour = state.misbehaviours.isEmpty ? nil : state.misbehaviours.removeFirst()
            switch misbehaviour {
            case .limitsRate(let time)?: return (.limited(untilMilliseconds: time), false)
            case .fails(let code)?: return (.failed(code), false)
            case .losesAnswer?, nil:
                let answer = state.memory.answer(call, approves: environment == .sandbox)
                return (answer, misbehaviour == .losesAnswer)
            }
        }
        guard !isLost else {
            responder.abort()
            return nil
        }
        return Self.response(answer)
    }

    private func isAuthorized(_ request: HTTPRequest) -> Bool {
        guard let field = request.field(Self.authorization) else { return false }
        let text = String(decoding: field, as: UTF8.self)
        guard text.hasPrefix("Bearer "), let token = try? SignedToken(String(text.dropFirst(7))),
            token.isSigned(by: app.key), let header = (try? JSONDocument(token.header))?.root,
            let claims = (try? JSONDocument(token.claims))?.root, header["kid"]?.string == app.keyID,
            header["alg"]?.string == "ES256", claims["iss"]?.string == app.issuerID,
            claims["bid"]?.string == app.bundleID, claims["aud"]?.string == "appstoreconnect-v1",
            let issued = claims["iat"]?.int, let end = claims["exp"]?.int
        else { return false }
        let now = now()
        // A token is valid for an hour at most.
        return issued <= now + 60 && end > now && end <= now + 3660
    }

    private static func response(_ answer: RetentionMemory.Answer) -> HTTPResponse {
        switch answer {
        case .done: return HTTPResponse(.ok)
        case .json(let json): return HTTPResponse(.ok, json: json)
        case .unknownPath: return HTTPResponse(.notFound)
        case .limited(let time):
            return HTTPResponse(
                .tooManyRequests, contentType: "application/json", body: body(.rateLimitExceeded),
                fields: [("Retry-After", "\(time)")])
        case .failed(let code):
            // The first three digits of a code are its status.
            return HTTPResponse(HTTPStatus(code: code.rawValue / 10_000) ?? .badRequest, json: body(code))
        }
    }

    private static func body(_ code: RetentionErrorCode) -> [UInt8] {
        JSONWriter.object { writer in
            writer.field("errorCode", code.rawValue)
            writer.field("errorMessage", "\(code)")
        }
    }
}
