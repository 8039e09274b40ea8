import BalloonPOSIX

/// The documents of providers, by address: fetched when first needed, and shared by all sign-ins.
///
/// Callers that need the same document at once share one fetch, which continues when one of them no longer waits.
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
    private let clock: SignInClock
    private var entries: [String: Entry] = [:]

    /// The shortest time between two refetches of a document that is still fresh, and after a failed refresh.
    static var refetchInterval: Duration { .seconds(60) }
    /// The maximum number of documents; the oldest is forgotten for a further one.
    static var maximumCount: Int { 1024 }

    /// Creates an empty cache; with `keepsOldCopy` a document stays in use while its refresh fails.
    init(of call: ProviderCall, keepsOldCopy: Bool, clock: SignInClock) {
        self.call = call
        self.keepsOldCopy = keepsOldCopy
        self.clock = clock
    }

    /// The document at `address`, at most as old as its lifetime.
    ///
    /// With `refetching`, a fresh document is fetched again, unless that happened within the last minute. Throws the
    /// failure of the fetch, or ``SignInFailure/late(_:)`` at the deadline.
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
        guard let result = await value(of: task, before: deadline) else {
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
        // The entry owns the task, whose fetch has a time limit of its own.
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

/// Waits for the value of a task until a deadline; nil afterwards, while the task continues.
private func value<Value: Sendable>(
    of task: Task<Value, Never>, before deadline: ContinuousClock.Instant
) async -> Value? {
    let isDecided = OnceFlag()
    return await withCheckedContinuation { continuation in
        let timer = Task {
            // A cancelled sleep means that the value arrived first.
            try? await Task.sleep(until: deadline, clock: .continuous)
            if isDecided.claim() { continuation.resume(returning: nil) }
        }
        Task {
            let value = await task.value
            // Claim before the timer is cancelled: a cancelled timer wakes at once, and would claim for the deadline.
            guard isDecided.claim() else { return }
            timer.cancel()
            continuation.resume(returning: value)
        }
    }
}
