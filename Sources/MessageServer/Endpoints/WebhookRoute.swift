import BalloonHTTP
import BalloonWire
import BusinessMessages
import ConversationStore

/// `POST /message`: where Apple posts every message of every business of the MSP.
///
/// Apple appends `/message` to the address that is registered in Apple Business Register.
enum WebhookRoute {
    static func make(
        _ configuration: ServerConfiguration, registry: HandlerRegistry, store: ConversationStore,
        observer: any StageObserver
    ) -> HTTPRoute {
        let limits = configuration.limits
        let inboundLimits = InboundLimits(
            maximumInflatedBytes: limits.maximumInflatedBytes,
            maximumInflationRatio: limits.maximumInflationRatio)
        return HTTPRoute(.post, "/message", body: .collected(maximumBytes: limits.maximumBodyBytes)) { _ in
            let pipeline = InboundPipeline(
                authenticator: WebhookAuthenticator(
                    secret: configuration.secret, mspID: configuration.mspID, window: limits.tokenAge),
                limits: inboundLimits, registry: registry, store: store, observer: observer,
                references: ReferenceSequence())
            return { request, responder in pipeline.receive(request, responder) }
        }
    }
}
