import BalloonMetrics
import BusinessMessages

/// Counts the stages of all messages for `/metrics`, and passes each event to the next observer.
///
/// Recording a stage costs one search among ten histogram bounds and two atomic additions.
final class StageMetrics: StageObserver {
    /// The result of a stage, as a label with a closed set of values.
    enum ResultLabel: Int, CaseIterable {
        case done, duplicate, refused, failed, postponed, released, ended

        var name: String { "\(self)" }

        init(_ result: StageEvent.Result) {
            self =
                switch result {
                case .done: .done
                case .duplicate: .duplicate
                case .refused: .refused
                case .failed: .failed
                case .postponed: .postponed
                case .released: .released
                case .ended: .ended
                }
        }
    }

    /// The statuses that have a label of their own in `balloon_webhooks_total`; all others share `other`.
    static let statuses = [200, 503, 400, 401, 403, 404, 405, 408, 413, 414, 415, 417, 431, 501, 505]

    /// The results that each stage can have; only these have a series.
    static let possible: [(stage: StageEvent.Stage, result: ResultLabel)] = StageEvent.Stage.allCases.flatMap
    {
        stage in stage.possibleResults.map { (stage, $0) }
    }

    private let next: any StageObserver
    private let labels: BusinessLabels
    /// The durations by stage and result; nil for a pair that cannot occur.
    private let durations: [Histogram?]
    private let webhooks = (0...statuses.count).map { _ in Counter() }

    init(_ labels: BusinessLabels, passingTo next: any StageObserver) {
        self.labels = labels
        self.next = next
        durations = StageEvent.Stage.allCases.flatMap { stage in
            ResultLabel.allCases.map { stage.possibleResults.contains($0) ? Histogram(.nanoseconds) : nil }
        }
    }

    var wantsDetails: Bool { next.wantsDetails }

    func observe(_ event: StageEvent) {
        durations[Self.place(event.stage, ResultLabel(event.result))]?.record(event.nanoseconds)
        switch event.stage {
        case .read, .authenticate, .inflate, .envelope:
            if case .refused(let status, _) = event.result { countWebhook(status) }
        case .journal:
            if case .failed = event.result { countWebhook(503) } else { countWebhook(200) }
        case .record:
            if event.result == .done, let business = event.business, let kind = event.kind {
                labels.countMessage(to: business, of: kind)
            }
        case .resolve, .decode, .fetch, .route, .handle, .finish, .reply: break
        }
        next.observe(event)
    }

    private func countWebhook(_ status: Int) {
        webhooks[Self.statuses.firstIndex(of: status) ?? Self.statuses.count].add()
    }

    /// The durations of each stage and result that occurred at least once.
    var stages: [(stage: StageEvent.Stage, result: ResultLabel, durations: Histogram.Snapshot)] {
        Self.possible.compactMap { stage, result in
            guard let snapshot = durations[Self.place(stage, result)]?.snapshot, snapshot.count > 0 else {
                return nil
            }
            return (stage, result, snapshot)
        }
    }

    /// The number of webhooks by each status, also by one that was not answered yet: the increase from 0 to 1 is then
    /// visible.
    var webhookCounts: [(status: String, count: UInt64)] {
        webhooks.enumerated().map { index, counter in
            (index < Self.statuses.count ? "\(Self.statuses[index])" : "other", counter.value)
        }
    }

    private static func place(_ stage: StageEvent.Stage, _ result: ResultLabel) -> Int {
        stage.ordinal * ResultLabel.allCases.count + result.rawValue
    }
}

extension StageEvent.Stage {
    fileprivate var possibleResults: [StageMetrics.ResultLabel] {
        switch self {
        case .read: [.refused]
        case .authenticate, .inflate, .envelope: [.done, .refused]
        case .journal: [.done, .duplicate, .failed]
        case .resolve: [.done, .failed]
        case .decode: [.done, .failed, .ended]
        case .record: [.done]
        case .fetch, .route, .handle, .finish: [.done, .failed, .postponed, .released, .ended]
        case .reply: [.done, .refused, .failed, .postponed, .released, .ended]
        }
    }

    /// The index in ``allCases``, found without a search.
    fileprivate var ordinal: Int {
        switch self {
        case .read: 0
        case .authenticate: 1
        case .inflate: 2
        case .envelope: 3
        case .journal: 4
        case .resolve: 5
        case .decode: 6
        case .record: 7
        case .fetch: 8
        case .route: 9
        case .handle: 10
        case .finish: 11
        case .reply: 12
        }
    }
}
