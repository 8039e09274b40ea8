import BalloonPOSIX

/// Counts events in windows of one minute, each of which begins with its first event.
struct RequestQuota: Sendable {
    /// The state of the quota after an event.
    struct Reading: Sendable, Equatable {
        let isExceeded: Bool
        /// The number of events that the window still allows.
        let remaining: Int
        /// Whole seconds until the next window, at least 1.
        let resetSeconds: Int
    }

    static let window = Duration.seconds(60)

    private var start: ContinuousClock.Instant
    private var count = 0

    init(now: ContinuousClock.Instant) { start = now }

    /// Counts one event unless the window has `limit` of them already; without `counting`, returns only the state.
    mutating func count(limit: Int, now: ContinuousClock.Instant, counting: Bool = true) -> Reading {
        if isOver(now: now) { self = RequestQuota(now: now) }
        let isExceeded = counting && count >= limit
        if counting, !isExceeded { count += 1 }
        let left = Self.window - (now - start)
        let seconds = Int(left.components.seconds) + (left.components.attoseconds > 0 ? 1 : 0)
        return Reading(
            isExceeded: isExceeded, remaining: max(0, limit - count), resetSeconds: min(60, max(1, seconds)))
    }

    /// Whether the window has ended, so that the quota need not be kept.
    func isOver(now: ContinuousClock.Instant) -> Bool { now - start >= Self.window }
}

/// Counts the invalid tokens of each client address; an IPv6 /64 network counts as one address.
///
/// In a minute, the first ten are answered with 401 and further ones with 429.
struct FailedAttempts: Sendable {
    /// The number of invalid tokens in a minute that get 401; further ones get 429.
    static let limit = 10
    /// The maximum number of addresses with a separate count; all further ones share one count.
    static let maximumAddresses = 4096

    private var quotas: [PeerAddress: RequestQuota] = [:]
    private var others: RequestQuota

    init(now: ContinuousClock.Instant) { others = RequestQuota(now: now) }

    /// Counts an invalid token of an address.
    mutating func count(_ peer: PeerAddress, now: ContinuousClock.Instant) -> RequestQuota.Reading {
        let group = peer.group
        if quotas[group] == nil, quotas.count >= Self.maximumAddresses {
            quotas = quotas.filter { !$0.value.isOver(now: now) }
            guard quotas.count < Self.maximumAddresses else {
                return others.count(limit: Self.limit, now: now)
            }
        }
        return quotas[group, default: RequestQuota(now: now)].count(limit: Self.limit, now: now)
    }
}
