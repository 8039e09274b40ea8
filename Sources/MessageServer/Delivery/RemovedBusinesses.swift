import Logging
import MessageStore

/// Ends the messages of businesses that were removed from the configuration: at the start, and once an hour.
///
/// Without an end each of them keeps its segment of the journal and all later ones.
struct RemovedBusinesses: Sendable {
    let store: Store
    let registry: HandlerRegistry
    /// How old the latest message of such a business must be.
    let age: Duration
    let logger: Logger

    /// Looks until the store leases no more.
    func run() async {
        repeat {
            do {
                let count = try await store.endPending(
                    ofAllBut: { registry.contains($0) }, olderThan: age, reason: "the business was removed")
                guard count > 0 else { continue }
                logger.warning(
                    "messages of removed businesses became dead letters", metadata: ["count": "\(count)"])
            } catch {
                logger.warning(
                    "messages of removed businesses cannot be ended", metadata: ["error": "\(error)"])
            }
        } while await store.pause(for: .seconds(3600))
    }
}
