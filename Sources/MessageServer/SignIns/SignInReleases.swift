import BalloonJSON
import BusinessMessages
import HandlerKit
import Logging
import MessageStore
import SignIn

/// Releases the result of a sign-in to Apple's event of the same customer and request.
///
/// The event proves which Messages account closed the window. It does not prove that the same person signed in. In version 1
/// the event brings the device's token, which is opened and checked here.
struct SignInReleases: Sendable {
    let requests: OpenRequests
    let settings: SignInSettings
    let client: SignInClient
    let logger: Logger

    /// The time limit for opening and checking a token of version 1.
    private static let classicTime = Duration.seconds(20)

    /// The meaning of an event.
    enum Meaning: Sendable {
        /// The event concerns no request of the server.
        case none
        /// The handler gets this result.
        case result(SignInResult)
        /// The event repeats this one, and is not delivered.
        case repetition(of: MessageID)
    }

    /// The meaning of an event; the same event has the same meaning again until its delivery has ended.
    ///
    /// Throws the disk's errors, after which the delivery is retried, and a `CancellationError` when the server stops.
    func meaning(of event: InboundEvent) async throws -> Meaning {
        guard case .authentication(let authentication) = event.content,
            let identifier = authentication.interaction.requestIdentifier,
            let business = settings[event.business]
        else { return .none }
        let provider = business.authentication.provider
        if authentication.version == .one {
            // Without a client of version 1, the handler asked with a key of its own.
            guard provider.classic != nil else { return .none }
            if authentication.result == .succeeded, let token = authentication.token {
                return try await meaning(of: event, identifier, token: token, authentication, business)
            }
        }
        let (customer, id) = (event.customer, event.id)
        let release = try await requests.update(identifier, of: event.business) { request, now in
            // An ended request is gone: the event is late, or an operator replays it.
            request?.release(to: customer, by: id, at: now) ?? .expired
        }
        return Self.meaning(of: release, authentication)
    }

    /// The meaning of an event that brings a token of version 1.
    private func meaning(
        of event: InboundEvent, _ identifier: String, token: String, _ authentication: Authentication,
        _ business: SignInSettings.Business
    ) async throws -> Meaning {
        let (customer, id) = (event.customer, event.id)
        let begin = try await requests.update(identifier, of: event.business) { request, now in
            request?.begin(for: customer, by: id, at: now) ?? .ended(.expired)
        }
        let payload: [UInt8]
        switch begin {
        case .ended(let release): return Self.meaning(of: release, authentication)
        case .payload(let bytes): payload = bytes
        }
        let result = try await result(of: token, payload, business)
        try await requests.update(identifier, of: event.business) { request, _ in
            request?.end(with: result.json, by: id)
        }
        return .result(result)
    }

    private func result(
        of token: String, _ payload: [UInt8], _ business: SignInSettings.Business
    ) async throws -> SignInResult {
        // A request of version 2 has no key, so nothing proves the token.
        guard let payload = ClassicSignInPayload(payload) else { return .unproven }
        let exchanged = await client.exchange(
            classicToken: token, scalar: payload.scalar, at: business.authentication.provider,
            before: .now + Self.classicTime)
        switch exchanged {
        case .success(let result): return SignInResult(result) ?? .failed(code: "502")
        case .failure(.stopping): throw CancellationError()
        case .failure(let failure):
            logger.warning(
                "sign-in failed; the customer can begin again",
                metadata: [
                    "business": "\(business.slug)", "code": "\(failure.code)", "reason": "\(failure.reason)",
                ])
            return .failed(code: "\(failure.code)")
        }
    }

    /// The part of an event's result that the conversation keeps; nil for an event without a result.
    func recorded(_ event: InboundEvent) async throws -> RecordedSignIn? {
        guard case .result(let result) = try await meaning(of: event) else { return nil }
        guard case .signedIn(let identity) = result else { return RecordedSignIn(result: result.name) }
        let recordsSubject = settings[event.business]?.authentication.recordsSubject ?? false
        return RecordedSignIn(
            result: result.name, issuer: identity.issuer, subject: recordsSubject ? identity.subject : nil)
    }

    /// Removes the request of an event whose delivery has ended.
    func end(_ event: InboundEvent) async {
        guard case .authentication(let authentication) = event.content,
            let identifier = authentication.interaction.requestIdentifier, settings[event.business] != nil
        else { return }
        let id = event.id
        // When the disk refuses, the request is removed by the clock a day later.
        try? await requests.update(identifier, of: event.business) { request, _ in
            if request?.releasedBy == id { request = nil }
        }
    }

    private static func meaning(
        of release: OpenRequest.Release, _ authentication: Authentication
    ) -> Meaning {
        switch release {
        case .result(let json): .result(result(json, authentication))
        case .unproven: .result(.unproven)
        case .expired: .result(.expired)
        case .repetition(let original): .repetition(of: original)
        }
    }

    /// The result for the handler, from the recorded result and the status that the device reports.
    static func result(_ json: [UInt8]?, _ authentication: Authentication) -> SignInResult {
        // The store's own file: a damaged one counts as no result.
        let recorded = json.flatMap { try? JSONDocument($0) }.flatMap { SignInResult($0.root) }
        switch authentication.result {
        case .succeeded:
            // Of version 1, the token in the event itself led to the recorded result.
            if authentication.version == .one { return recorded ?? .unproven }
            guard case .signedIn = recorded else { return .unproven }
            return recorded ?? .unproven
        case .cancelled: return .declined
        case .failed, .unknown:
            if case .declined = recorded { return .declined }
            if case .failed(let code) = recorded { return .failed(code: code) }
            let code = authentication.errorCode ?? authentication.problems.first?.code.map(String.init)
            return .failed(code: code ?? "unknown")
        }
    }
}
