import BusinessMessages
package import Logging
package import MessageStore

/// The store on which operations work, and the effects that only a running server has.
package struct OperationScope: Sendable {
    /// The open store.
    package let store: Store
    let logger: Logger
    /// The parts of the running server; nil in a command.
    var running: RunningOperations?
    var isServed: @Sendable (BusinessID) -> Bool = { _ in true }
    var configureErasure: @Sendable (inout CustomerErasure.Settings) -> Void = { _ in }
    var forgetUploads: @Sendable () -> Void = {}
    var decideReversals: @Sendable (ReversalDecision) async throws -> Void = { _ in }
    var trim: @Sendable () async throws -> TrimReport = { TrimReport() }

    init(_ store: Store, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    /// Creates the scope of a process that has the lock of a data directory.
    package init(alone store: Store, dataDirectory: String, logger: Logger) {
        // The command reports failures, so nothing is logged.
        self.init(store, logger: Logger(label: "balloon") { _ in SwiftLogNoOpLogHandler() })
        decideReversals = { try await $0.apply(to: store, dataDirectory: dataDirectory, logger: logger) }
    }
}

/// The parts of a running server on which its operations work.
package struct RunningOperations: Sendable {
    let registry: HandlerRegistry
    let watch: AssignmentWatch
    let sender: ReplySender
    /// The levels of log lines; nil in a server that was started without them.
    let levels: LogLevels?
    let logger: Logger
    let version: String
    let checks: ReadinessChecks
    let payments: PaymentServices
    let connections: ListenerConnections
    let configuration: CurrentConfiguration
    let began = ContinuousClock.now
}
