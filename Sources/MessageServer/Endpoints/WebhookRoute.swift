package import BalloonHTTP
package import BusinessMessages
package import MessageStore

/// `POST /message`: the webhook that receives every message of every business of the MSP.
///
/// Apple appends `/message` to the URL registered in Apple Business Register.
package enum WebhookRoute {
    /// Creates the route, with a pipeline for each shard; messages for unknown businesses are refused.
    package static func make(
        _ configuration: CurrentConfiguration, isServed: @escaping @Sendable (BusinessID) -> Bool,
        store: Store, observer: any StageObserver
    ) -> HTTPRoute {
        HTTPRoute(
            .post, "/message", body: .collected(maximumBytes: configuration.limits.maximumBodyBytes),
            endBurst: { store.beginWriting() },
            makeHandlers: { _ in
                let pipeline = InboundPipeline(
                    configuration, isServed: isServed, store: store, observer: observer,
                    references: ReferenceSequence())
                return HTTPRoute.Handlers(admit: pipeline.admit, handle: pipeline.receive)
            })
    }
}
