import BalloonMetrics
import BalloonPOSIX
import BusinessMessages

/// The label of each business in the metrics: its slug for the first 200 in sorted order, `_other` for the rest.
///
/// A business keeps its label until the process ends, even when reloads add other businesses, so that a
/// series never changes its meaning. A slug has no underscore, so no slug equals `_other`.
final class BusinessLabels: Sendable {
    static let maximumCount = 200
    static let other = "_other"

    /// The recorded messages of one label.
    final class Messages: Sendable {
        let label: String
        /// One counter for each kind, in the order of `Kind.allCases`.
        let counts = Kind.allCases.map { _ in Counter() }

        fileprivate init(_ label: String) { self.label = label }
    }

    private final class State: Sendable {
        /// The configured businesses.
        let businesses: [BusinessID: Messages]
        /// All labels that were ever in use, also those of businesses that are gone.
        let used: [String: Messages]

        init(_ businesses: [BusinessID: Messages], _ used: [String: Messages]) {
            (self.businesses, self.used) = (businesses, used)
        }
    }

    private let other = Messages(other)
    /// Every recorded message reads it, so reading waits for nobody.
    private let state = AtomicReference(State([:], [:]))

    /// Creates the labels of these businesses.
    init(_ businesses: [BusinessConfiguration]) { change(to: businesses) }

    /// Gives each new business its slug as a label, until ``maximumCount`` labels are in use.
    func change(to businesses: [BusinessConfiguration]) {
        state.replace { state in
            var used = state.used
            for slug in businesses.map(\.slug).sorted()
            where used[slug] == nil && used.count < Self.maximumCount {
                used[slug] = Messages(slug)
            }
            let known = businesses.map { ($0.businessID, used[$0.slug] ?? other) }
            return State(Dictionary(known) { first, _ in first }, used)
        }
    }

    /// The label of a business; `_other` also for one that is not configured.
    subscript(business: BusinessID) -> String {
        state.value.businesses[business]?.label ?? Self.other
    }

    /// Counts a recorded message.
    func countMessage(to business: BusinessID, of kind: Kind) {
        guard let index = Kind.allCases.firstIndex(of: kind) else { return }
        (state.value.businesses[business] ?? other).counts[index].add()
    }

    /// The number of recorded messages by label and kind, for each configured business and each kind.
    var messageCounts: [(label: String, kind: Kind, count: UInt64)] {
        let state = state.value
        let configured = Set(state.businesses.values.map(\.label))
        let shown = (state.used.values + [other]).filter { messages in
            configured.contains(messages.label) || messages.counts.contains { $0.value > 0 }
        }
        return shown.sorted { $0.label < $1.label }.flatMap { messages in
            zip(Kind.allCases, messages.counts).map { (messages.label, $0, $1.value) }
        }
    }

    /// The configured businesses with their labels, in no particular order.
    var all: [(business: BusinessID, label: String)] {
        state.value.businesses.map { ($0, $1.label) }
    }
}
