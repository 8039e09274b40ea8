package import Logging
import MessageStore

/// Sends one message from a data directory without a running server.
package enum DirectSend {
    /// Locks the directory, makes the message durable, sends it, and unlocks the directory.
    ///
    /// Earlier replies of the conversation are sent first. Inbound messages wait for the next start of the server,
    /// and so does a message that was not sent in time. Throws a `SendRefusal`, or a `StoreError`:
    /// `StoreError.inUse` while a server runs.
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
                CurrentConfiguration(configuration), store: store, observer: LogObserver(logger),
                logger: logger,
                // No handler runs here, so the handler's subscriptions are unknown: report every failure. The
                // server later drops the reports to which the handler does not subscribe.
                reportsFailures: { _ in true }
            ).sender
            let sending = Task { @concurrent in
                repeat {
                    await sender.sendQueued(of: request.business, request.customer)
                    // Repeat after 20 ms: the message is due as soon as it is durable, and a retry is due
                    // after a second.
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
