import HandlerKit
import Logging
import MessageStore
import SignIn

/// Releases the result of a sign-in when Apple's event for the same customer and request arrives.
///
/// The event proves which Messages account closed the window. It does not prove that the same person signed
/// in. In version 1 the event contains the device's token, which is decrypted and checked here.
struct SignInReleases: Sendable {
    let requests: OpenRequests
    let settings: SignInSettings
    let client: SignInClient
    let logger: Logger

    /// The time limit for decrypting and checking a token of version 1.
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

    /// Returns the meaning of an event, which stays the same until the event's delivery has ended.
    ///
    /// Throws the disk's errors, after which the delivery is retried, and a `CancellationError` when the
    /// server stops.
    func meaning(of event: InboundEvent) async throws -> Meaning {
        guard case .authentication(let authentication) = event.content,
            let identifier = authentication.interaction.requestIdentifier,
            let business = settings[event.business]
        else { return .none }
        let provider = business.section.provider
        if authentication.version == .one {
            // Without a client of version 1, the handler sent the request with its own key, and the server
            // has no request.
            guard provider.classic != nil else { return .none }
            if authentication.result == .succeeded, let token = authentication.token {
                return try await meaning(of: event, identifier, token: token, authentication, business)
            }
        }
        let (claim, id) = (Self.claim(on: identifier, event, authentication), event.id)
        let released = try await requests.update(claim) { request, now in
            request?.release(by: id, at: now) ?? .expired
        }
        return Self.meaning(of: released, authentication)
    }

    /// Returns the claim of an event on the request of its kind, version, business and customer.
    private static func claim(
        on identifier: String, _ event: InboundEvent, _ authentication: Authentication
    ) -> RequestClaim {
        RequestClaim(
            authentication.version == .one ? .classicSignIn : .signIn, identifier: identifier,
            of: event.business, event.customer)
    }

    /// Returns the meaning of an event from what it released, if anything.
    private static func meaning(
        of released: ClaimedRequest<OpenRequest.Release>, _ authentication: Authentication
    ) -> Meaning {
        switch released {
        case .agreed(.result(let json)): .result(result(json, authentication))
        case .agreed(.repetition(let original)): .repetition(of: original)
        case .other: .result(.unproven)
        // An ended request is removed after a day; the event then comes too late, or an operator replays it.
        case .agreed(.expired), .unknown: .result(.expired)
        }
    }

    /// Returns the meaning of an event that contains a token of version 1.
    private func meaning(
        of event: InboundEvent, _ identifier: String, token: String, _ authentication: Authentication,
        _ business: SignInSettings.Business
    ) async throws -> Meaning {
        let (claim, id) = (Self.claim(on: identifier, event, authentication), event.id)
        let payload: [UInt8]
        switch try await requests.update(
            claim,
            { request, now in
                request?.begin(by: id, at: now) ?? .ended(.expired)
            })
        {
        case .agreed(.payload(let bytes)): payload = bytes
        case .agreed(.ended(let release)): return Self.meaning(of: .agreed(release), authentication)
        case .other: return Self.meaning(of: .other, authentication)
        case .unknown: return Self.meaning(of: .unknown, authentication)
        }
        let result = try await result(of: token, payload, business)
        _ = try await requests.update(claim) { request, _ in request?.end(with: result.json, by: id) }
        return .result(result)
    }

    private func result(
        of token: String, _ payload: [UInt8], _ business: SignInSettings.Business
    ) async throws -> SignInResult {
        // Without the key, which only a damaged file lacks, nothing proves the token.
        guard let payload = ClassicSignInPayload(payload) else { return .unproven }
        do throws(SignInFailure) {
            let result = try await client.exchange(
                classicToken: token, scalar: payload.scalar, at: business.section.provider,
                before: .now + Self.classicTime)
            return SignInResult(result) ?? .failed(code: "502")
        } catch {
            if error == .stopping { throw CancellationError() }
            logger.warning(
                "sign-in failed; the customer can begin again",
                metadata: [
                    "business": "\(business.slug)", "code": "\(error.code)", "reason": "\(error.reason)",
                ])
            return .failed(code: "\(error.code)")
        }
    }

    /// Returns the part of an event's result that the conversation's file keeps; nil for an event without a
    /// result.
    func recorded(_ event: InboundEvent) async throws -> RecordedSignIn? {
        guard case .result(let result) = try await meaning(of: event) else { return nil }
        guard case .signedIn(let identity) = result else { return RecordedSignIn(result: result.name) }
        let recordsSubject = settings[event.business]?.section.recordsSubject ?? false
        return RecordedSignIn(
            result: result.name, issuer: identity.issuer, subject: recordsSubject ? identity.subject : nil)
    }

    /// Removes the result of an event whose delivery has ended.
    func end(_ event: InboundEvent) async {
        guard case .authentication(let authentication) = event.content,
            let identifier = authentication.interaction.requestIdentifier, settings[event.business] != nil
        else { return }
        let (claim, id) = (Self.claim(on: identifier, event, authentication), event.id)
        // When the disk fails here, the result is removed a day later, after its time has passed.
        _ = try? await requests.update(claim) { request, now in request?.forgetResult(of: id, at: now) }
    }

    /// The result for the handler, from the recorded result and the status that the device reports.
    static func result(_ json: [UInt8]?, _ authentication: Authentication) -> SignInResult {
        // The store wrote this JSON; a damaged result counts as no result.
        let recorded = json.flatMap { try? JSONDocument($0) }.flatMap { SignInResult($0.root) }
        switch authentication.result {
        case .succeeded:
            // In version 1, the recorded result was derived from the token in this event, so it needs no
            // further check.
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
