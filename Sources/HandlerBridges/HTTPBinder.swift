import BalloonPOSIX
import BalloonTransport
import BalloonWire
package import HandlerKit

/// A binder for handlers that are HTTP services: `"handler": {"http": {"url": "https://…", "secret": {"env":
/// "NAME"}}}`.
///
/// `secret` may be a list of two secrets, the new one first. `events` may be a list of kinds and
/// `replyFailed`; without it, events of every kind are sent. `payments` may list payment callbacks, such as
/// `paymentGateway`; without it, no callback is sent.
package struct HTTPBinder: HandlerBinder {
    /// The key that selects this binder in a business's file: `"handler": {"http": …}`.
    package let name = "http"
    private let environment: [String: String]

    /// Creates a binder that looks up secrets in `environment`.
    package init(environment: [String: String] = ProcessEnvironment.variables()) {
        self.environment = environment
    }

    /// Creates a handler; does not call the service.
    package func make(_ request: HandlerBindingRequest) throws -> any Handler {
        guard let http = request.binding["http"],
            let address = http["url"]?.string.flatMap({ ServiceAddress($0, from: request.directory) })
        else { throw BindingError.addressExpected }
        let payments = try payments(http["payments"])
        return ServiceHandler(
            address, signature: WebhookSignature(secrets: try secrets(http["secret"], request.directory)),
            subscriptions: try subscriptions(http["events"]), payments: payments,
            transport: try CurlTransport(),
            paymentTransport: payments.isEmpty ? nil : try CurlTransport(),
            chargeTransport: { try CurlTransport() }, logger: request.logger)
    }

    /// Returns the hashes of the secrets, so that a reload recreates the handler when a secret has changed.
    package func ingredients(of request: HandlerBindingRequest) -> [UInt8] {
        // Ignore errors here: creating the handler reports them.
        let secrets = try? secrets(request.binding["http"]?["secret"], request.directory)
        return (secrets ?? []).flatMap { SHA256.hash($0.bytes) }
    }

    private func subscriptions(_ events: JSONValue?) throws -> Set<Subscription> {
        guard let events else { return Subscription.everyKind }
        let subscriptions = events.elements.map { $0.string.flatMap(Subscription.init(name:)) }
        guard !subscriptions.isEmpty, !subscriptions.contains(nil) else {
            throw BindingError.eventsExpected
        }
        return Set(subscriptions.compactMap(\.self))
    }

    private func payments(_ list: JSONValue?) throws -> Set<PaymentCallback.Kind> {
        guard let list else { return [] }
        let kinds = list.elements.map { $0.string.flatMap(PaymentCallback.Kind.init) }
        guard !kinds.isEmpty, !kinds.contains(nil) else { throw BindingError.paymentsExpected }
        return Set(kinds.compactMap(\.self))
    }

    private func secrets(_ value: JSONValue?, _ directory: String) throws -> [Secret] {
        guard let value else { throw BindingError.secretExpected }
        let references = value.kind == .array ? Array(value.elements) : [value]
        guard (1...2).contains(references.count) else { throw BindingError.secretExpected }
        return try references.map { try secret($0, directory) }
    }

    private func secret(_ reference: JSONValue, _ directory: String) throws -> Secret {
        let text: String?
        if let name = reference["env"]?.string {
            text = environment[name]
        } else if let path = reference["file"]?.string {
            let file = path.hasPrefix("/") ? path : directory + "/" + path
            let bytes = try? Descriptor.open(reading: file).readToEnd(maximumBytes: 4096)
            text = bytes.map { String(decoding: $0, as: UTF8.self) }
        } else {
            throw BindingError.secretExpected
        }
        let trimmed = text?.split(whereSeparator: \.isWhitespace).first.map(String.init)
        // Omit the cause of the error, because its text could quote the secret.
        guard let trimmed, let secret = try? Secret(webhook: trimmed) else {
            throw BindingError.secretUnusable
        }
        return secret
    }
}
