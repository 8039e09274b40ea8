import BalloonWire

/// The verified certificate chains of the App Store, and a limit on the verification of unknown chains.
///
/// Invariant: at most `maximumChains` chains are kept, and at most `maximumPerSecond` unknown chains are
/// verified in a second, for the whole server. The limit does not count the new verification of a known chain
/// that is older than 15 minutes. Forged chains therefore cannot prevent the verification of Apple's.
struct ChainCache {
    /// A certificate chain and the root certificate to which it leads.
    struct ID: Hashable {
        let root: RootCertificate
        let chain: CertificateChain
    }

    /// The result of looking a chain up.
    enum Lookup: Equatable {
        /// The chain was verified less than 15 minutes ago, and its leaf certificate has this key.
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

    /// Looks a chain up; `now` is a time that never goes backwards.
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

    /// Keeps a chain that was verified at `now`; when the cache is full, removes the least recently used
    /// chain.
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
