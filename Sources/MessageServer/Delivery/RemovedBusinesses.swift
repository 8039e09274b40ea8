import Logging
import MessageStore

/// Ends the messages of businesses that were removed from the configuration: at the start, and once an hour.
///
/// Each unfinished message would otherwise keep its journal segment and all later ones.
struct RemovedBusinesses: Sendable {
    let store: Store
    let registry: HandlerRegistry
    /// The minimum age of such a business's latest message.
    let age: Duration
    let logger: Logger

    /// Runs until the store leases no more.
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
                    "ending messages of removed businesses failed", metadata: ["error": "\(error)"])
            }
        } while await store.pause(for: .seconds(3600))
    }
}
