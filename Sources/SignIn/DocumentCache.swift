import BalloonPOSIX

/// A cache of providers' documents by address, which all sign-ins share.
///
/// A document is fetched when it is first needed. Callers that need the same document at the same time share
/// one fetch. The fetch continues when a caller stops waiting.
actor DocumentCache<Document: Sendable> {
    typealias Fetched = Result<FetchedDocument<Document>, SignInFailure>
    typealias Fetch = @Sendable () async -> Fetched

    private struct Entry {
        var document: Document?
        var storedAt = Duration.zero
        var lifetime = Duration.zero
        var refetchedAt: Duration?
        var failedAt: Duration?
        var fetch: Task<Fetched, Never>?
    }

    private let call: ProviderCall
    private let keepsOldCopy: Bool
    private let clock: TimeSource
    private var entries: [String: Entry] = [:]

    /// The minimum time between two refetches of a fresh document, and from a failed refresh to the next
    /// attempt.
    static var refetchInterval: Duration { .seconds(60) }
    /// The maximum number of documents; the oldest document is removed to make room for another.
    static var maximumCount: Int { 1024 }

    /// Creates an empty cache; if `keepsOldCopy`, an expired document stays in use while its refresh fails.
    init(of call: ProviderCall, keepsOldCopy: Bool, clock: TimeSource) {
        self.call = call
        self.keepsOldCopy = keepsOldCopy
        self.clock = clock
    }

    /// Returns the document at `address`; fetches it when there is no cached copy or the copy has expired.
    ///
    /// With `refetching`, a fresh copy is fetched again, unless it was refetched within the last minute.
    /// Throws the failure of the fetch, or ``SignInFailure/late(_:)`` at the deadline. A cache that keeps old
    /// copies returns its old copy instead of throwing.
    func document(
        at address: String, refetching: Bool = false, before deadline: ContinuousClock.Instant,
        _ fetch: @escaping Fetch
    ) async throws(SignInFailure) -> Document {
        let entry = entries[address] ?? Entry()
        let now = clock.uptime()
        let isFresh = entry.document != nil && now - entry.storedAt < entry.lifetime
        if let document = entry.document, entry.fetch == nil || (isFresh && !refetching) {
            if isFresh, !refetching || isRecent(entry.refetchedAt, now) { return document }
            if !isFresh, keepsOldCopy, isRecent(entry.failedAt, now) { return document }
        }
        let task = entry.fetch ?? start(fetch, at: address, isRefetch: isFresh)
        let old = keepsOldCopy ? entry.document : nil
        guard let result = await task.value(within: ContinuousClock.now.duration(to: deadline)) else {
            if let old { return old }
            throw .late(call)
        }
        if case .failure = result, let old { return old }
        return try result.get().document
    }

    private func isRecent(_ moment: Duration?, _ now: Duration) -> Bool {
        moment.map { now - $0 < Self.refetchInterval } ?? false
    }

    private func start(
        _ fetch: @escaping Fetch, at address: String, isRefetch: Bool
    ) -> Task<Fetched, Never> {
        // The entry owns the task. The task ends by itself, because its fetch has a time limit.
        let task = Task {
            let result = await fetch()
            store(result, at: address)
            return result
        }
        if entries[address] == nil { makeRoom() }
        entries[address, default: Entry()].fetch = task
        if isRefetch { entries[address]?.refetchedAt = clock.uptime() }
        return task
    }

    private func store(_ result: Fetched, at address: String) {
        let now = clock.uptime()
        entries[address]?.fetch = nil
        switch result {
        case .success(let fetched):
            entries[address]?.document = fetched.document
            entries[address]?.lifetime = fetched.lifetime
            entries[address]?.storedAt = now
            entries[address]?.failedAt = nil
        case .failure: entries[address]?.failedAt = now
        }
    }

    private func makeRoom() {
        guard entries.count >= Self.maximumCount else { return }
        let oldest = entries.filter { $0.value.fetch == nil }.min { $0.value.storedAt < $1.value.storedAt }
        if let oldest { entries[oldest.key] = nil }
    }
}
