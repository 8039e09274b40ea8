import BalloonPOSIX

/// The limits of messages and their processing.
package struct ServerLimits: Sendable, Equatable {
    /// The size limit of a message's body as sent; a larger one gets 413.
    package var maximumBodyBytes = 10 << 20
    /// The size limit of a message's body after decompression; a larger one gets 413.
    package var maximumInflatedBytes = 10 << 20
    /// The maximum ratio of decompressed to sent bytes; a larger one gets 413.
    package var maximumInflationRatio = 200
    /// The maximum difference between a token's `iat` and now, in either direction; JSON: `tokenAgeSeconds`.
    package var tokenAge = Duration.seconds(3600)
    /// The time limit of a handler for one delivery, unless its business sets another; JSON: `handlerDeadlineSeconds`.
    package var handlerDeadline = Duration.seconds(30)
    /// The maximum number of concurrent deliveries to one business's handler, unless the business sets another.
    package var handlerConcurrency = 16
    /// The maximum number of concurrent payload downloads for all businesses together.
    ///
    /// While several businesses wait, each gets at most a quarter.
    package var referenceConcurrency = 16
    /// The number of shards that serve HTTP; the default, also for 0 in JSON, is one for every available
    /// core.
    package var shards = ProcessorCount.available()

    /// The number of concurrent payload downloads guaranteed to each business when there are `businesses` of them.
    func referenceShare(among businesses: Int) -> Int {
        fairShare(of: referenceConcurrency, among: businesses)
    }

    /// Uses the default values.
    package init() {}
}
