import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonTransport
package import BalloonWire
package import Logging
package import RetentionMessages
import Synchronization

/// The Retention Messaging API of one app on a loopback address, with the App Store's states, limits and errors.
///
/// It checks the token of each call. In the sandbox everything is approved at once. In production a test
/// decides with `review(_:)`, and a real-time URL needs a passed performance test of the sandbox. With a
/// `RetentionQuestioner` it runs performance tests, and `POST /_simulator/cancel` asks the question for a
/// subscriber who cancels:
///
/// ```json
/// {"productId": "com.example.monthly", "userLocale": "en-US", "originalTransactionId": "1"}
/// {"asked": true, "milliseconds": 3, "status": 200, "answer": {"message": {"messageIdentifier": "…"}},
///  "shown": "answer", "header": "Stay", "body": "Half price for three months."}
/// ```
///
/// All members of the request may be missing. `shown` is `answer`, `default` or `nothing`. `failure` is the
/// reason why the question failed, by its name in Apple's performance test.
package final class SimulatedRetentionAPI: Sendable {
    /// The identifiers that a call's token must contain, with the key that verifies the token.
    package struct App: Sendable {
        let bundleID: String
        let issuerID: String
        let keyID: String
        let key: PublicKey

        /// Creates the identifiers, with the key that verifies tokens.
        package init(bundleID: String, issuerID: String, keyID: String, key: PublicKey) {
            self.bundleID = bundleID
            self.issuerID = issuerID
            self.keyID = keyID
            self.key = key
        }
    }

    /// A fault that the next matching call shows.
    package enum Misbehaviour: Sendable, Equatable {
        /// The call is performed, but the connection closes without an answer.
        case losesAnswer
        /// The call has no effect and gets 429; the next call is allowed at this time in milliseconds since
        /// 1970.
        case limitsRate(untilMilliseconds: Int)
        /// The call has no effect and gets this error code.
        case fails(RetentionErrorCode)
    }

    private struct State {
        var memory = RetentionMemory()
        var misbehaviours: [(call: String, kind: Misbehaviour)] = []
        var limitedCount = 0
        var lostCount = 0
        var calls: [String] = []
        /// The times of the recent calls of each kind, in milliseconds, for the rate limits.
        var times: [String: [Int]] = [:]
        var tests: [RetentionID: PerformanceTest] = [:]
        var running: Task<Void, Never>?
        var questioner: RetentionQuestioner?
    }

    private let app: App
    private let environment: RetentionEnvironment
    private let milliseconds: @Sendable () -> Int
    private let enforcesRates: Bool
    /// The sandbox whose performance test must pass before a real-time URL is accepted; nil for no such
    /// condition.
    private let sandbox: SimulatedRetentionAPI?
    private let state = Mutex(State())
    private let server: LoopbackServer

    /// Creates an API without content; `milliseconds` returns the time in milliseconds since 1970.
    ///
    /// With `enforcesRates`, calls above Apple's rate limits get 429.
    package init(
        _ app: App, _ environment: RetentionEnvironment, logger: Logger, enforcesRates: Bool = false,
        after sandbox: SimulatedRetentionAPI? = nil,
        milliseconds: @escaping @Sendable () -> Int = { Int(Timestamp.now().milliseconds) }
    ) {
        self.app = app
        self.environment = environment
        server = LoopbackServer(logger: logger)
        self.milliseconds = milliseconds
        self.enforcesRates = enforcesRates
        self.sandbox = sandbox
    }

    /// Starts serving on a free loopback port and returns the address for a client, `http://127.0.0.1:PORT`.
    package func start() async throws -> String {
        let methods: [HTTPMethod] = [.get, .put, .post, .delete]
        let routes = methods.map { method in
            HTTPRoute(method, Self.prefix + "*", body: .collected(maximumBytes: 64 << 20)) {
                [weak self] request, responder in self?.answer(request, responder)
            }
        }
        let cancel = HTTPRoute(.post, "/_simulator/cancel", body: .collected(maximumBytes: 4096)) {
            [weak self] request, responder in
            let body = Array(request.body)
            Task { responder.respond(await self?.cancelled(body) ?? HTTPResponse(.notFound)) }
            return nil
        }
        return "http://\(try await server.start(routes + [cancel]))"
    }

    /// Uses this questioner from now on; it asks its own address until the app sets a real-time URL.
    package func ask(by questioner: RetentionQuestioner) { state.withLock { $0.questioner = questioner } }

    /// Stops serving; the content is kept.
    package func stop() async {
        state.withLock { $0.running }?.cancel()
        await server.stop(within: .zero)
    }

    /// Misbehaves at the next call with a valid token whose text begins with `call`; earlier misbehaviours
    /// apply first.
    package func misbehave(_ misbehaviour: Misbehaviour, at call: String = "") {
        state.withLock { $0.misbehaviours.append((call, misbehaviour)) }
    }

    /// The number of calls whose answer was lost.
    package var lostCount: Int { state.withLock { $0.lostCount } }

    /// The number of calls that exceeded Apple's rate limits.
    package var limitedCount: Int { state.withLock { $0.limitedCount } }

    /// Decides about all pending images and messages, as Apple's reviewers do.
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

    private static let prefix = "/inApps/v1/messaging/"

    private func answer(_ request: HTTPRequest, _ responder: HTTPResponder) -> HTTPResponse? {
        guard isAuthorized(request) else { return HTTPResponse(.unauthorized, text: "Unauthenticated\n") }
        let path = String(decoding: request.path.dropFirst(Self.prefix.utf8.count), as: UTF8.self)
        let call = RetentionMemory.Call(
            method: request.method.rawValue, path: path.split(separator: "/").map(String.init),
            query: String(decoding: request.query, as: UTF8.self), body: Array(request.body))
        let (answer, isLost) = state.withLock { state -> (HTTPResponse, Bool) in
            state.calls.append("\(call.method) \(path)")
            let next = state.misbehaviours.firstIndex { "\(call.method) \(path)".hasPrefix($0.call) }
            let misbehaviour = next.map { state.misbehaviours.remove(at: $0).kind }
            switch misbehaviour {
            case .limitsRate(let time)?: return (.limited(untilMilliseconds: time), false)
            case .fails(let code)?: return (.failed(code), false)
            case .losesAnswer?, nil:
                if misbehaviour == .losesAnswer { state.lostCount += 1 }
                if let limited = limit(call, &state) { return (limited, false) }
                return (perform(call, &state), misbehaviour == .losesAnswer)
            }
        }
        guard !isLost else {
            responder.abort()
            return nil
        }
        return answer
    }

    private func perform(_ call: RetentionMemory.Call, _ state: inout State) -> HTTPResponse {
        if call.path.first == "performanceTest" { return performanceTest(call, &state) }
        if call.method == "PUT", call.path.first == "realtime", sandbox?.hasPassedTest == false {
            return .failed(.noPassedPerformanceTest)
        }
        return state.memory.answer(call, approves: environment == .sandbox)
    }

    /// Whether a performance test has passed.
    package var hasPassedTest: Bool { state.withLock { $0.tests.values.contains(where: \.isPassed) } }

    /// The answer 429 when Apple's rate limit allows no further call of this kind now; nil otherwise.
    private func limit(_ call: RetentionMemory.Call, _ state: inout State) -> HTTPResponse? {
        guard enforcesRates else { return nil }
        let isList = call.path.last == "list"
        let kind = "\(call.method) \(call.path.first ?? "")\(isList ? " list" : "")"
        let maximum = kind == "PUT default" ? 10 : 1
        let window = environment == .sandbox ? 10_000 : 1000
        let now = milliseconds()
        let times = state.times[kind, default: []].filter { now - $0 < window }
        state.times[kind] = times
        guard times.count < maximum else {
            state.limitedCount += 1
            return .limited(untilMilliseconds: times[0] + window)
        }
        state.times[kind]?.append(now)
        return nil
    }

    private func performanceTest(
        _ call: RetentionMemory.Call, _ state: inout State
    ) -> HTTPResponse {
        if call.method == "GET", call.path.count == 3, call.path[1] == "result" {
            guard let id = RetentionID(call.path[2]) else { return .failed(.invalidRequestID) }
            guard let test = state.tests[id] else { return .failed(.performanceTestNotFound) }
            return .json(test.result)
        }
        guard call.method == "POST", call.path.count == 1, environment == .sandbox else {
            return .unknownPath
        }
        let body = (try? JSONDocument(call.body))?.root
        guard let subscription = body?["originalTransactionId"]?.string,
            (1...64).contains(subscription.utf8.count)
        else { return .failed(.invalidTransaction) }
        // The App Store asks about products with a default message only.
        guard let questioner = state.questioner, state.memory.key(0) != nil,
            let id = RetentionID(hash: randomBytes(16))
        else { return .failed(.invalidPerformanceTest) }
        if state.tests.values.contains(where: { !$0.isEnded }) { return .failed(.performanceTestRuns) }
        let url = questioner.address(state.memory.realtimeURL)
        let test = PerformanceTest(of: url)
        state.tests[id] = test
        state.running = run(test, questioner, at: url, state.memory, subscription)
        return .json(
            JSONWriter.object { writer in
                test.writeSettings(to: &writer)
                writer.field("requestId", id.text)
            })
    }

    private func run(
        _ test: PerformanceTest, _ questioner: RetentionQuestioner, at url: String, _ memory: RetentionMemory,
        _ subscription: String
    ) -> Task<Void, Never> {
        Task {
            await test.run { number in
                guard let key = memory.key(number) else {
                    return PerformanceTest.Sample(time: .zero, failure: .other)
                }
                let (exchange, time) = await questioner.ask(
                    key, subscription: subscription, at: url, within: test.settings.responseTimeThreshold)
                let failure = PerformanceTest.failure(of: exchange, at: url) { memory.isApproved($0) }
                return PerformanceTest.Sample(
                    time: time, failure: failure,
                    isEmpty: failure == nil && PerformanceTest.isEmpty(exchange))
            }
        }
    }

    /// Asks the question for a subscriber who cancels, and reports the answer and the message that is shown.
    private func cancelled(_ body: [UInt8]) async -> HTTPResponse {
        let root = (try? JSONDocument(body))?.root
        let (memory, questioner) = state.withLock { ($0.memory, $0.questioner) }
        guard let questioner else { return HTTPResponse(.notFound) }
        let first = memory.key(0)
        let product = root?["productId"]?.string.map { ProductID($0) } ?? first?.product
        let locale = root?["userLocale"]?.string.map { StoreLocale($0) } ?? first?.locale
        guard let product, let locale,
            let fallback = memory.defaults[DefaultMessages.Key(product, locale)]
        else {
            // Without a default message the App Store does not ask.
            return HTTPResponse(.ok, json: JSONWriter.object(["asked": false, "shown": "nothing"]))
        }
        let url = questioner.address(memory.realtimeURL)
        let (exchange, time) = await questioner.ask(
            DefaultMessages.Key(product, locale), subscription: root?["originalTransactionId"]?.string ?? "1",
            at: url, within: RetentionQuestioner.limit)
        return HTTPResponse(
            .ok,
            json: JSONWriter.object { writer in
                writer.fields(["asked": true, "milliseconds": Int(time / .milliseconds(1))])
                var message: RetentionID?
                let failure = PerformanceTest.failure(of: exchange, at: url) { memory.isApproved($0) }
                if case .success(let response) = exchange {
                    writer.field("status", response.status)
                    if let answer = (try? JSONDocument(response.body))?.root {
                        writer.field("answer", answer)
                        if failure == nil { message = PerformanceTest.message(in: answer) }
                    }
                }
                writer.fields(["failure": failure?.rawValue, "shown": message == nil ? "default" : "answer"])
                let content = memory.messages[message ?? fallback]?.content
                writer.fields(["header": content?.header, "body": content?.body])
            })
    }

    private func isAuthorized(_ request: HTTPRequest) -> Bool {
        guard let text = request.text("authorization"), text.hasPrefix("Bearer "),
            let token = try? SignedToken(String(text.dropFirst(7))),
            token.isSigned(by: app.key), let header = (try? JSONDocument(token.header))?.root,
            let claims = (try? JSONDocument(token.claims))?.root, header["kid"]?.string == app.keyID,
            header["alg"]?.string == "ES256", claims["iss"]?.string == app.issuerID,
            claims["bid"]?.string == app.bundleID, claims["aud"]?.string == "appstoreconnect-v1",
            let issued = claims["iat"]?.int, let end = claims["exp"]?.int
        else { return false }
        let now = milliseconds() / 1000
        // A token is valid for at most an hour; the clocks may differ by a minute.
        return issued <= now + 60 && end > now && end <= now + 3660
    }
}
