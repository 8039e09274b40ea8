package import BalloonHTTP
package import BusinessMessages
package import MessageStore

/// `POST /message`: the webhook that receives every message of every business of the MSP.
///
/// Apple appends `/message` to the URL registered in Apple Business Register.
package enum WebhookRoute {
    /// Creates the route of a server that owns its store; messages for unknown businesses are refused.
    package static func make(
        _ configuration: CurrentConfiguration, isServed: @escaping @Sendable (BusinessID) -> Bool,
        store: Store, observer: any StageObserver
    ) -> HTTPRoute {
        // The message waits for the journal's next batch. The writer is woken once for all requests that arrived together.
        make(
            configuration, refusal: { isServed($0) ? nil : .unknownBusiness }, observer: observer,
            endBurst: { store.beginWriting() },
            store: { store.append($0, isPrompt: false, completion: $1) })
    }

    /// Creates the route, with a pipeline for each shard that passes valid messages to `store`.
    static func make(
        _ configuration: CurrentConfiguration, refusal: @escaping @Sendable (BusinessID) -> InboundRefusal?,
        observer: any StageObserver, endBurst: (@Sendable () -> Void)? = nil,
        store: @escaping @Sendable (ReceivedMessage, @escaping AppendCompletion) -> Void
    ) -> HTTPRoute {
        HTTPRoute(
            .post, "/message", body: .collected(maximumBytes: configuration.limits.maximumBodyBytes),
            endBurst: endBurst,
            makeHandlers: { _ in
                let pipeline = InboundPipeline(
                    configuration, refusal: refusal, store: store, observer: observer,
                    references: ReferenceSequence())
                return HTTPRoute.Handlers(admit: pipeline.admit, handle: pipeline.receive)
            })
    }
}
