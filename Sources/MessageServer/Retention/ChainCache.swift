import BalloonWire

/// The chains of the App Store that were verified, and the rate at which unknown ones may be.
///
/// Invariant: at most `maximumChains` chains are kept, and at most `maximumPerSecond` unknown chains are verified in a
/// second, for the whole server. A chain that is known but older than 15 minutes is verified again outside that rate,
/// so that forged chains cannot keep Apple's out.
struct ChainCache {
    /// A chain and the root to which it leads.
    struct ID: Hashable {
        let root: RootCertificate
        let chain: CertificateChain
    }

    /// The decision about a chain.
    enum Lookup: Equatable {
        /// The leaf's key, verified less than 15 minutes ago.
        case verified(PublicKey)
        /// The chain must be verified.
        case unverified
        /// Too many unknown chains arrived in this second.
        case refused
    }

    private struct Entry {
        var key: PublicKey
        var verified: Duration
        var used: Duration
    }

    static let age = Duration.seconds(15 * 60)
    let maximumChains: Int
    let maximumPerSecond: Int
    private var entries: [ID: Entry] = [:]
    private var second = Duration.zero
    private var countInSecond = 0

    init(maximumChains: Int = 32, maximumPerSecond: Int = 20) {
        self.maximumChains = maximumChains
        self.maximumPerSecond = maximumPerSecond
    }

    /// Looks a chain up at a time that never goes backwards.
    mutating func look(up id: ID, at now: Duration) -> Lookup {
        if let entry = entries[id] {
            entries[id]?.used = now
            return now - entry.verified < Self.age ? .verified(entry.key) : .unverified
        }
        if now - second >= .seconds(1) {
            second = now
            countInSecond = 0
        }
        guard countInSecond < maximumPerSecond else { return .refused }
        countInSecond += 1
        return .unverified
    }

    /// Keeps a chain that was verified at `now`, instead of the one that was unused for the longest time.
    mutating func keep(_ id: ID, _ key: PublicKey, at now: Duration) {
        if entries[id] == nil, entries.count >= maximumChains,
            let oldest = entries.min(by: { $0.value.used < $1.value.used })
        {
            entries[oldest.key] = nil
        }
        entries[id] = Entry(key: key, verified: now, used: now)
    }

    /// Removes a chain that is not valid any more.
    mutating func remove(_ id: ID) { entries[id] = nil }
}
