import BalloonJSON
import BusinessMessages
import HandlerKit
import MessageStore

/// Releases the result of a sign-in to Apple's event of the same customer and request.
///
/// The event proves which Messages account closed the window. It does not prove that the same person signed in.
struct SignInReleases: Sendable {
    let requests: OpenRequests
    let settings: SignInSettings

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
    /// Throws the disk's errors, after which the delivery is retried.
    func meaning(of event: InboundEvent) async throws -> Meaning {
        guard case .authentication(let authentication) = event.content, authentication.version == .two,
            let identifier = authentication.interaction.requestIdentifier, settings[event.business] != nil
        else { return .none }
        let (customer, id) = (event.customer, event.id)
        let release = try await requests.update(identifier, of: event.business) { request, now in
            // An ended request is gone: the event is late, or an operator replays it.
            request?.release(to: customer, by: id, at: now) ?? .expired
        }
        switch release {
        case .result(let json): return .result(Self.result(json, authentication))
        case .unproven: return .result(.unproven)
        case .expired: return .result(.expired)
        case .repetition(let original): return .repetition(of: original)
        }
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

    /// The result for the handler, from the recorded result and the status that the device reports.
    static func result(_ json: [UInt8]?, _ authentication: Authentication) -> SignInResult {
        // The store's own file: a damaged one counts as no result.
        let recorded = json.flatMap { try? JSONDocument($0) }.flatMap { SignInResult($0.root) }
        switch authentication.result {
        case .succeeded:
            guard case .signedIn = recorded else { return .unproven }
            return recorded ?? .unproven
        case .cancelled: return .declined
        case .failed, .unknown:
            if case .declined = recorded { return .declined }
            if case .failed(let code) = recorded { return .failed(code: code) }
            return .failed(code: authentication.errorCode ?? "unknown")
        }
    }
}
