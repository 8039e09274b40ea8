package import BalloonHTTP
import BalloonWire
package import BusinessMessages
package import MessageStore

/// `POST /message`: the webhook that receives every message of every business of the MSP.
///
/// Apple appends `/message` to the URL registered in Apple Business Register.
package enum WebhookRoute {
    /// Creates the route, with a pipeline for each shard; messages for unknown businesses are refused.
    ///
    /// Without `secrets`, the route uses the secrets of the configuration, and a reload does not change them.
    package static func make(
        _ configuration: ServerConfiguration, secrets: MSPSecrets? = nil,
        isServed: @escaping @Sendable (BusinessID) -> Bool,
        store: Store,
        observer: any StageObserver
    ) -> HTTPRoute {
        let secrets =
            secrets ?? MSPSecrets(configuration.secret, previous: configuration.previousSecret)
        let limits = configuration.limits
        let inboundLimits = InboundLimits(
            maximumInflatedBytes: limits.maximumInflatedBytes,
            maximumInflationRatio: limits.maximumInflationRatio)
        return HTTPRoute(
            .post, "/message", body: .collected(maximumBytes: limits.maximumBodyBytes),
            endBurst: { store.beginWriting() },
            makeHandlers: { _ in
                let pipeline = InboundPipeline(
                    authenticator: WebhookAuthenticator(
                        secrets: secrets, mspID: configuration.mspID, window: limits.tokenAge),
                    limits: inboundLimits, isServed: isServed, store: store, observer: observer,
                    references: ReferenceSequence())
                return HTTPRoute.Handlers(admit: pipeline.admit, handle: pipeline.receive)
            })
    }
}
