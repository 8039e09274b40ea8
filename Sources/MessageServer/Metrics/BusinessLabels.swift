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
        var slugs: [BusinessID: String] = [:]
        /// The slugs that are in use as labels.
        var labels: Set<String> = []
    }

    private let state = Mutex(State())

    /// Creates the labels of these businesses.
    init(_ businesses: [BusinessConfiguration]) { change(to: businesses) }

    /// Gives each new business its slug as a label, until ``maximumCount`` labels are in use.
    func change(to businesses: [BusinessConfiguration]) {
        state.withLock { state in
            state.slugs = Dictionary(businesses.map { ($0.businessID, $0.slug) }) { first, _ in first }
            for slug in businesses.map(\.slug).sorted() where state.labels.count < Self.maximumCount {
                state.labels.insert(slug)
            }
        }
    }

    /// The label of a business; `_other` also for one that is not configured.
    subscript(business: BusinessID) -> String {
        state.withLock { state in
            guard let slug = state.slugs[business], state.labels.contains(slug) else { return Self.other }
            return slug
        }
    }

    /// The configured businesses with their labels, in no particular order.
    var all: [(business: BusinessID, label: String)] {
        state.withLock { state in
            state.slugs.map { ($0, state.labels.contains($1) ? $1 : Self.other) }
        }
    }
}
