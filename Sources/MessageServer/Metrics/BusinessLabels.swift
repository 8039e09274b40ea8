import BusinessMessages
import Synchronization

/// The label of each business in the metrics: its slug for the first 200 in sorted order, `_other` for the rest.
///
/// A business keeps its label until the process ends, even when reloads add other businesses, so that a
/// series never changes its meaning. A slug has no underscore, so no slug equals `_other`.
final class BusinessLabels: Sendable {
    static let maximumCount = 200
    static let other = "_other"

    private struct State {
        /// The labels of the configured businesses.
        var labels: [BusinessID: String] = [:]
        /// The slugs that are in use as labels, also those of businesses that are gone.
        var used: Set<String> = []
    }

    private let state = Mutex(State())

    /// Creates the labels of these businesses.
    init(_ businesses: [BusinessConfiguration]) { change(to: businesses) }

    /// Gives each new business its slug as a label, until ``maximumCount`` labels are in use.
    func change(to businesses: [BusinessConfiguration]) {
        state.withLock { state in
            for slug in businesses.map(\.slug).sorted() where state.used.count < Self.maximumCount {
                state.used.insert(slug)
            }
            state.labels = Dictionary(
                businesses.map { ($0.businessID, state.used.contains($0.slug) ? $0.slug : Self.other) }
            ) { first, _ in first }
        }
    }

    /// The label of a business; `_other` also for one that is not configured.
    subscript(business: BusinessID) -> String {
        state.withLock { $0.labels[business] } ?? Self.other
    }

    /// The configured businesses with their labels, in no particular order.
    var all: [(business: BusinessID, label: String)] {
        state.withLock { $0.labels.map { ($0, $1) } }
    }
}
