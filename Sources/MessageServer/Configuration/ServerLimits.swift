import BalloonPOSIX

/// The bounds on what the server takes from others and on how long it works on it.
package struct ServerLimits: Sendable, Equatable {
    /// Bytes of a message's body as it was sent; over it 413.
    package var maximumBodyBytes = 10 << 20
    /// Bytes of a message's body when inflated; over it 413.
    package var maximumInflatedBytes = 10 << 20
    /// How many times larger than it was sent a body may become; over it 413.
    package var maximumInflationRatio = 200
    /// How far a token's `iat` may be from now, in either direction; JSON: `tokenAgeSeconds`.
    package var tokenAge = Duration.seconds(3600)
    /// How long a handler may take for one delivery; JSON: `handlerDeadlineSeconds`.
    package var handlerDeadline = Duration.seconds(30)
    /// How many deliveries may be with handlers at once.
    package var handlerConcurrency = 16
    /// How many payload references are fetched at once, of all businesses together; while several have some, each has at
    /// most a quarter.
    package var referenceConcurrency = 16
    /// How many shards serve HTTP; by default, and for 0 in JSON, one for every core that the process may use.
    package var shards = ProcessorCount.available()

    /// How many of the references that are fetched at once each of so many businesses may have in any case.
    func referenceShare(among businesses: Int) -> Int {
        fairShare(of: referenceConcurrency, among: businesses)
    }

    /// The same limits, but for those that a reload changes.
    func withHandlers(of other: ServerLimits) -> ServerLimits {
        var limits = self
        limits.handlerDeadline = other.handlerDeadline
        limits.handlerConcurrency = other.handlerConcurrency
        return limits
    }

    /// The defaults.
    package init() {}
}
