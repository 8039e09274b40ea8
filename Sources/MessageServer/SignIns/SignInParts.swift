import BalloonJSON
import BalloonPOSIX
import BalloonWire
import BusinessMessages
import MessageStore
import SignIn

/// Adds the random parts of a sign-in message when the message is sent, and updates its open request.
///
/// The message in the journal has placeholders instead. The parts are created once for each queued reply and
/// are durable before the message is sent, so a repeated send has the same bytes.
struct SignInParts: Sendable {
    let requests: OpenRequests
    /// The providers; nil in a command without a running server, which leaves sign-ins in the outbox for the server.
    let settings: SignInSettings?

    /// Whether the server adds parts to this message.
    static func isIncomplete(_ message: JSONValue) -> Bool {
        guard let oauth2 = oauth2(of: message) else { return false }
        return oauth2["redirectURI"]?.equals(SignInRequest.placeholder) ?? false || isClassic(oauth2)
    }

    /// Whether the server adds a key of version 1.
    private static func isClassic(_ oauth2: JSONValue) -> Bool {
        oauth2["responseEncryptionKey"]?.equals(SignInRequest.placeholder) ?? false
    }

    /// Returns the message with its parts; a message without placeholders is returned unchanged.
    ///
    /// Throws ``ReplyRefused``, and the disk's errors, after which the send is retried.
    func complete(_ message: [UInt8], _ entry: OutboxEntry) async throws -> [UInt8] {
        guard entry.reply.kind == .authentication else { return message }
        let document = try JSONDocument(message, limits: .stored)
        guard Self.isIncomplete(document.root), let oauth2 = Self.oauth2(of: document.root) else {
            return message
        }
        guard let settings else {
            throw PartsMissing("the server adds the parts of a sign-in; it is sent when the server runs")
        }
        guard let business = settings[entry.business] else { throw ReplyRefused(Self.noProvider) }
        guard let identifier = document.root["interactiveData"]?["data"]?["requestIdentifier"]?.string else {
            throw ReplyRefused("not sent: the message has no requestIdentifier")
        }
        let parts = Parts(
            message: document.root, oauth2: oauth2, identifier: identifier,
            authentication: business.section)
        do {
            if Self.isClassic(oauth2) { return try await completeClassic(parts, entry) }
            guard let redirectURI = settings.redirectURI(of: business.slug) else {
                throw ReplyRefused(Self.noProvider)
            }
            return try await complete(parts, entry, redirectURI: redirectURI)
        } catch StoreError.tooManyRequests(let maximum) {
            throw ReplyRefused("not sent: \(StoreError.tooManyRequests(maximum: maximum))")
        }
    }

    /// The message to complete, with the values that are read from it.
    private struct Parts {
        let message: JSONValue
        let oauth2: JSONValue
        let identifier: String
        let authentication: AuthenticationConfiguration

        /// The scope that the message names; empty for the configured scope.
        var scope: [String] {
            oauth2["scope"]?.elements.compactMap(\.string).filter { $0 != SignInRequest.placeholder } ?? []
        }
    }

    private func complete(
        _ parts: Parts, _ entry: OutboxEntry, redirectURI: String
    ) async throws -> [UInt8] {
        let attempt = SignInAttempt(
            at: parts.authentication.provider, redirectURI: redirectURI, scope: parts.scope)
        let parameters: String?
        do throws(SignInFailure) {
            parameters = try attempt.additionalParameters(
                merging: parts.oauth2["additionalParameters"]?.string)
        } catch {
            throw ReplyRefused("not sent: \(error.reason)")
        }
        let drawn = SignInPayload(attempt, additionalParameters: parameters)
        let request = try await request(.signIn, entry, parts, named: attempt.state, drawn.json)
        guard let payload = SignInPayload(request.payload) else { throw ReplyRefused(Self.used) }
        var members = [
            "state": Self.text(payload.attempt.state), "redirectURI": Self.text(payload.attempt.redirectURI),
            "scope": Self.list(payload.attempt.scope),
        ]
        if let parameters = payload.additionalParameters {
            members["additionalParameters"] = Self.text(parameters)
        }
        return Self.message(parts.message, with: members)
    }

    /// Adds a new P-384 key; the open request keeps the private scalar, and its name is derived from the
    /// public key.
    private func completeClassic(_ parts: Parts, _ entry: OutboxEntry) async throws -> [UInt8] {
        guard let client = parts.authentication.provider.classic else {
            throw ReplyRefused("not sent: the business has no \"classic\" in its \"authentication\"")
        }
        // Creating a key pair fails only when memory is exhausted.
        let drawn = await PublicKeyThreads.shared.run { try? P384KeyPair() }
        guard let pair = drawn ?? nil else {
            throw PartsMissing("too many operations wait for the public-key threads")
        }
        let scope = parts.scope.isEmpty ? parts.authentication.provider.scope : parts.scope
        let new = ClassicSignInPayload(pair, scope: scope)
        let request = try await request(.classicSignIn, entry, parts, named: new.key, new.json)
        guard let payload = ClassicSignInPayload(request.payload) else { throw ReplyRefused(Self.used) }
        return Self.message(
            parts.message,
            with: [
                "state": Self.text(payload.state), "scope": Self.list(payload.scope),
                "responseEncryptionKey": Self.text(payload.key),
                "clientSecret": Self.text(String(decoding: client.clientSecret.bytes, as: UTF8.self)),
            ])
    }

    /// Returns the open request of a queued reply; the first attempt to send the reply creates it.
    private func request(
        _ kind: OpenRequest.Kind, _ entry: OutboxEntry, _ parts: Parts, named name: String,
        _ payload: [UInt8]
    ) async throws -> OpenRequest {
        let (identifier, authentication) = (parts.identifier, parts.authentication)
        return try await requests.request(of: entry.id) { now in
            (
                name,
                OpenRequest(
                    kind, business: entry.business, customer: entry.customer,
                    requestIdentifier: identifier, entry: entry.id, payload: payload,
                    stateLifetime: authentication.stateLifetime,
                    releaseLifetime: authentication.releaseLifetime, at: now)
            )
        }
    }

    private static let noProvider = "not sent: the business has no \"authentication\" in its file"
    /// The reason for a reply whose request the customer has used: an earlier attempt arrived, but its answer
    /// was lost.
    private static let used = "not sent again: the customer has used this sign-in"

    /// Starts the lifetime of the request when its message was accepted; otherwise removes the unused
    /// request.
    func settle(_ entry: OutboxEntry, _ result: ReplyResult) async throws {
        guard entry.reply.kind == .authentication else { return }
        try await requests.update(of: entry.id) { request, now in
            if result.status == .accepted {
                request?.accept(at: now)
            } else if let phase = request?.phase, phase == .waiting || phase == .open {
                // A used request is kept, because it shows that the gateway accepted an earlier attempt.
                request = nil
            }
        }
    }

    private static func oauth2(of message: JSONValue) -> JSONValue? {
        message["interactiveData"]?["data"]?["authenticate"]?["oauth2"]
    }

    private static func message(_ root: JSONValue, with members: [String: [UInt8]]) -> [UInt8] {
        root.replacing(members: members, at: "interactiveData", "data", "authenticate", "oauth2")
    }

    private static func list(_ values: [String]) -> [UInt8] {
        JSONWriter.value { $0.array { writer in for value in values { writer.string(value) } } }
    }

    private static func text(_ value: String) -> [UInt8] { JSONWriter.value { $0.string(value) } }
}
