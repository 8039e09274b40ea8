import BalloonHTTP
import BalloonMetrics
import BalloonPOSIX
import BalloonWire
import HandlerKit
import Logging
import MessageStore
import SignIn
import Synchronization

/// Processes a provider's callback: find → check `iss` → consume → exchange → record → redirect.
///
/// The flow consumes the request durably before it exchanges the code, so that no code is exchanged twice,
/// even after a crash. The result is on disk before the browser returns to Messages. A callback does not
/// prove that the browser is the customer's: only Apple's event releases the result.
final class SignInFlow: Sendable {
    /// The page or the redirect that answers a browser.
    enum Answer: Sendable, Equatable {
        /// The sign-in succeeded, and needs no confirmation.
        case success
        /// The customer declined at the provider.
        case cancel
        /// The sign-in failed with this code.
        case failure(code: Int)
        /// The customer must confirm; `value` is used once, and `business` is the name that the page shows.
        case confirmation(value: String, business: String)
    }

    /// The reason why a callback or a confirmation fails; contains no text from outside.
    private enum Failure: Error {
        /// The provider refused or failed, or its answer was invalid.
        case provider(SignInFailure)
        /// The state is unknown, used or expired, or belongs to another business.
        case state
        /// The disk refused to record a step.
        case disk(StoreError)
        /// Too many callbacks wait for their providers.
        case busy

        var code: Int {
            switch self {
            case .provider(let failure): failure.code
            case .state: 400
            case .disk, .busy: 503
            }
        }

        var reason: String {
            switch self {
            case .provider(let failure): failure.reason
            case .state: "the state is unknown, used or expired"
            case .disk(let error): "\(error)"
            case .busy: "too many callbacks wait for their providers"
            }
        }
    }

    /// The time limit of a callback.
    static let callbackTime = Duration.seconds(20)
    /// The maximum number of callbacks at a time; further ones fail with 503.
    private static let maximumCallbacks = 2048

    private let requests: OpenRequests
    private let settings: SignInSettings
    private let client: SignInClient
    private let logger: Logger
    private let running = Mutex(Running())
    private let suspected = ProviderSwitch.allCases.map { (setting: $0, count: Counter()) }

    /// The number of failed sign-ins that a change of a setting of `authentication` may correct, by setting.
    var suspectedSettings: [(setting: String, count: UInt64)] {
        suspected.map { ($0.setting.rawValue, $0.count.value) }
    }

    /// The callbacks in progress.
    private struct Running {
        var tasks: [Int: Task<Answer, Never>] = [:]
        var number = 0
        var isStopping = false
    }

    init(requests: OpenRequests, settings: SignInSettings, client: SignInClient, logger: Logger) {
        self.requests = requests
        self.settings = settings
        self.client = client
        self.logger = logger
    }

    /// Processes the query or the form of a callback to the business with this slug.
    func callback(_ text: [UInt8], slug: String) async -> Answer {
        do throws(Failure) {
            guard let business = settings.business(slug: slug) else { throw .state }
            let (number, task) = try begin { [self] in
                do throws(Failure) {
                    return try await callback(text, of: business, before: .now + Self.callbackTime)
                } catch {
                    return answer(to: error, slug)
                }
            }
            defer { running.withLock { $0.tasks[number] = nil } }
            return await task.value
        } catch {
            return answer(to: error, slug)
        }
    }

    /// Cancels the callbacks that wait for their providers; these and later callbacks fail with 503.
    func stop() {
        running.withLock { running in
            running.isStopping = true
            for task in running.tasks.values { task.cancel() }
        }
    }

    /// Processes the form of the confirm page.
    func confirm(_ form: ArraySlice<UInt8>, slug: String) async -> Answer {
        do throws(Failure) {
            guard let business = settings.business(slug: slug), let value = Self.value(in: form) else {
                throw .state
            }
            let parts = value.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let name = RequestName(parts[0]) else { throw .state }
            let confirmation = Self.hash(String(parts[1]))
            let isConfirmed = try await update(RequestClaim(.signIn, named: name, of: business.id)) {
                request, now in request?.confirm(confirmation, at: now) ?? false
            }
            guard isConfirmed == true else { throw .state }
            return .success
        } catch {
            return answer(to: error, slug)
        }
    }

    private func callback(
        _ text: [UInt8], of business: SignInSettings.Business, before deadline: ContinuousClock.Instant
    ) async throws(Failure) -> Answer {
        let provider = business.section.provider
        let callback: SignInCallback
        do throws(SignInFailure) { callback = try SignInCallback(text) } catch { throw .provider(error) }
        let claim = RequestClaim(.signIn, named: RequestName(of: callback.state), of: business.id)
        let attempt = try await find(claim)
        do throws(SignInFailure) {
            try await client.checkIssuer(of: callback, for: attempt, at: provider, before: deadline)
        } catch {
            throw .provider(error)
        }
        // Stop before the request is consumed, so that the customer can use the request after the restart.
        if Task.isCancelled { throw .provider(.stopping) }
        guard try await update(claim, { request, now in request?.consume(at: now) ?? false }) == true else {
            throw .state
        }
        let identity: Identity
        do throws(SignInFailure) {
            identity = try await client.exchange(callback, of: attempt, at: provider, before: deadline)
        } catch {
            try await record(error, claim)
            throw .provider(error)
        }
        return try await record(identity, claim, RequestName(of: callback.state), business)
    }

    /// Returns the secrets of the open request that a callback claims; fails when no request agrees.
    private func find(_ claim: RequestClaim) async throws(Failure) -> SignInAttempt {
        let payload = try await update(claim) { request, now -> [UInt8]? in
            request.flatMap { $0.isLate(at: now) ? nil : $0.payload }
        }
        guard let attempt = SignInPayload(payload ?? nil)?.attempt else { throw .state }
        return attempt
    }

    private func record(
        _ identity: Identity, _ claim: RequestClaim, _ name: RequestName, _ business: SignInSettings.Business
    ) async throws(Failure) -> Answer {
        guard let result = SignInResult(identity) else {
            throw .provider(.answerRefused(.userinfo, .notJSON))
        }
        let value = business.section.asksToConfirm ? Self.randomValue() : nil
        let isRecorded = try await update(claim) { request, now in
            request?.record(result.json, confirmation: value.map(Self.hash), at: now) ?? false
        }
        guard isRecorded == true else { throw .state }
        guard let value else { return .success }
        return .confirmation(value: name.digits + "." + value, business: business.name)
    }

    private func record(_ failure: SignInFailure, _ claim: RequestClaim) async throws(Failure) {
        let result: SignInResult = failure == .denied ? .declined : .failed(code: "\(failure.code)")
        _ = try await update(claim) { request, now in
            request?.record(result.json, confirmation: nil, at: now) ?? false
        }
    }

    /// Changes the request that a callback claims; nil when no request agrees.
    private func update<Value: Sendable>(
        _ claim: RequestClaim, _ change: @escaping @Sendable (inout OpenRequest?, Timestamp) -> Value
    ) async throws(Failure) -> Value? {
        do { return try await requests.update(claim, change).value } catch {
            throw .disk(error as? StoreError ?? .closed)
        }
    }

    /// Starts the work of a callback in a task that ``stop()`` can cancel.
    private func begin(
        _ work: @escaping @Sendable () async -> Answer
    ) throws(Failure) -> (number: Int, task: Task<Answer, Never>) {
        try running.withLock { running throws(Failure) in
            guard !running.isStopping else { throw .provider(.stopping) }
            guard running.tasks.count < Self.maximumCallbacks else { throw .busy }
            running.number += 1
            let task = Task { @concurrent in await work() }
            running.tasks[running.number] = task
            return (running.number, task)
        }
    }

    private func answer(to failure: Failure, _ slug: String) -> Answer {
        if case .provider(.denied) = failure { return .cancel }
        // An unknown state is no warning, because any client can send one.
        let level: Logger.Level = if case .state = failure { .info } else { .warning }
        if case .provider(let failure) = failure, let setting = failure.suspectedSwitch {
            for suspect in suspected where suspect.setting == setting { suspect.count.add() }
        }
        logger.log(
            level: level, "sign-in failed; the customer can begin again",
            metadata: ["business": "\(slug)", "code": "\(failure.code)", "reason": "\(failure.reason)"])
        return .failure(code: failure.code)
    }

    private static func randomValue() -> String { Base64.encode(randomBytes(32), alphabet: .url) }

    private static func hash(_ value: String) -> String { Hex.encode(SHA256.hash(Array(value.utf8))) }

    private static func value(in form: ArraySlice<UInt8>) -> String? {
        // A malformed form has no value.
        let values = (try? HTTPQuery(form))?.values(of: "value") ?? []
        return values.count == 1 ? values[0] : nil
    }
}
