import BalloonJSON
import BusinessMessages
import MessageStore
import SignIn

/// Adds the parts of a sign-in message that are drawn when it is sent, and keeps its open request up to date.
///
/// The journal has placeholders in their place. The parts are drawn once for each queued reply and are durable before the
/// message leaves, so a repeated send has the same bytes.
struct SignInParts: Sendable {
    let requests: OpenRequests
    /// The providers; nil in a command without a running server, which leaves sign-ins in the outbox for the server.
    let settings: SignInSettings?

    /// The reason why a command without the providers' settings leaves a sign-in in the outbox.
    private struct ProvidersUnknown: Error, CustomStringConvertible {
        let description = "the server adds the parts of a sign-in; it is sent when the server runs"
    }

    /// A message ready to send, or the reason why it never can be sent.
    enum Completion: Sendable {
        case message([UInt8])
        case refused(reason: String)
    }

    /// Whether the server adds parts to this message.
    static func isIncomplete(_ message: JSONValue) -> Bool {
        oauth2(of: message)?["redirectURI"]?.string == SignInRequest.placeholder
    }

    /// The message with its parts; another message is returned unchanged.
    ///
    /// Throws the disk's errors, after which the send is retried.
    func complete(_ message: [UInt8], _ entry: OutboxEntry) async throws -> Completion {
        guard entry.reply.kind == .authentication else { return .message(message) }
        let document = try JSONDocument(message, limits: .stored)
        guard Self.isIncomplete(document.root), let oauth2 = Self.oauth2(of: document.root) else {
            return .message(message)
        }
        guard let settings else { throw ProvidersUnknown() }
        guard let business = settings[entry.business],
            let redirectURI = settings.redirectURI(of: business.slug)
        else { return .refused(reason: "not sent: the business has no \"authentication\" in its file") }
        guard let identifier = document.root["interactiveData"]?["data"]?["requestIdentifier"]?.string else {
            return .refused(reason: "not sent: the message has no requestIdentifier")
        }
        let authentication = business.authentication
        let scope = oauth2["scope"]?.elements.compactMap(\.string).filter { $0 != SignInRequest.placeholder }
        let attempt = SignInAttempt(at: authentication.provider, redirectURI: redirectURI, scope: scope)
        let parameters: String?
        do throws(SignInFailure) {
            parameters = try attempt.additionalParameters(merging: oauth2["additionalParameters"]?.string)
        } catch {
            return .refused(reason: "not sent: \(error.reason)")
        }
        let drawn = SignInPayload(attempt, additionalParameters: parameters)
        do {
            let request = try await requests.request(of: entry.id) { now in
                (
                    drawn.attempt.state,
                    OpenRequest(
                        .signIn, business: entry.business, customer: entry.customer,
                        requestIdentifier: identifier, entry: entry.id, payload: drawn.json,
                        stateLifetime: authentication.stateLifetime,
                        releaseLifetime: authentication.releaseLifetime, at: now)
                )
            }
            guard let payload = SignInPayload(request.payload) else {
                // The customer used the request of an earlier attempt, whose answer the server did not see.
                return .refused(reason: "not sent again: the customer has used this sign-in")
            }
            return .message(Self.message(document.root, with: payload))
        } catch StoreError.tooManyRequests(let maximum) {
            return .refused(reason: "not sent: \(StoreError.tooManyRequests(maximum: maximum))")
        }
    }

    /// Begins the time of an accepted message's request, or removes the request of a message that was not sent.
    func settle(_ entry: OutboxEntry, _ result: ReplyResult) async throws {
        guard entry.reply.kind == .authentication else { return }
        try await requests.update(of: entry.id) { request, now in
            if case .accepted = result { request?.accept(at: now) } else { request = nil }
        }
    }

    private static func oauth2(of message: JSONValue) -> JSONValue? {
        message["interactiveData"]?["data"]?["authenticate"]?["oauth2"]
    }

    private static func message(_ root: JSONValue, with payload: SignInPayload) -> [UInt8] {
        guard let interactiveData = root["interactiveData"], let data = interactiveData["data"],
            let authenticate = data["authenticate"], let oauth2 = authenticate["oauth2"]
        else { return Array(root.text) }
        var parts = [
            "state": text(payload.attempt.state), "redirectURI": text(payload.attempt.redirectURI),
        ]
        var scope = JSONWriter()
        scope.array { writer in for item in payload.attempt.scope { writer.string(item) } }
        parts["scope"] = scope.finish()
        if let parameters = payload.additionalParameters { parts["additionalParameters"] = text(parameters) }
        let filled = authenticate.replacing(members: ["oauth2": oauth2.replacing(members: parts)])
        return root.replacing(members: [
            "interactiveData": interactiveData.replacing(members: [
                "data": data.replacing(members: ["authenticate": filled])
            ])
        ])
    }

    private static func text(_ value: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.string(value)
        return writer.finish()
    }
}
