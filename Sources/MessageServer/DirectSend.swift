package import Logging
import MessageStore

/// Sends one message from a data directory that no server owns.
package enum DirectSend {
    /// Takes the directory's lock, makes the message durable, sends it, and lets go of the directory again.
    ///
    /// Earlier replies of the conversation are sent first. What customers sent waits for the server, and so does a message
    /// that has not ended in time. Throws a `SendRefusal`, and a `StoreError`, `StoreError.inUse` while a
    /// server runs.
    package static func run(
        _ request: SendRequest, _ configuration: ServerConfiguration, logger: Logger
    ) async throws -> SendAnswer {
        guard configuration.businesses.contains(where: { $0.businessID == request.business }) else {
            throw SendRefusal.businessUnknown
        }
        let store = try Store.open(
            StoreConfiguration(directory: configuration.dataDirectory), logger: logger)
        do {
            let sender = try Pipelines(
                configuration, store: store, observer: LogObserver(logger), logger: logger,
                // The server will know; what its handler does not want ends there.
                reportsFailures: { _ in true }
            ).sender
            let sending = Task { @concurrent in
                repeat {
                    await sender.sendQueued(of: request.business, request.customer)
                    // One that is tried again is due in a second; the message itself comes in a moment.
                    try? await Task.sleep(for: .milliseconds(20))
                } while !Task.isCancelled
            }
            let answer = try await sender.send(request)
            sending.cancel()
            await sending.value
            await store.close()
            return answer
        } catch {
            await store.close()
            throw error
        }
    }
}
