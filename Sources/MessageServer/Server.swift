package import BalloonPOSIX
public import HandlerKit
package import Logging
import MessageStore
import Replication
import Synchronization

/// The message server, for programs with their own handlers.
///
/// ```swift
/// import MessageServer
///
/// await Server.run(configurationFile: "config/server.json", handlers: [MyHandlerFactory()])
/// ```
public enum Server {
    /// Serves until SIGTERM or SIGINT, or until the task is cancelled; then drains.
    ///
    /// Stopping takes at most `shutdownSeconds`. When a stop by signal exceeds the limit, the process exits
    /// with 1. When a stop by cancellation exceeds it, the call returns with unfinished work left behind,
    /// provided that Swift's thread pool is not blocked. A second signal ends the process at once. SIGHUP,
    /// and any change of the `.json` files next to the configuration and in `businesses`, reload the
    /// configuration, the certificate and its key.
    /// All configuration errors are written to standard error, and the process exits with 78. It exits with
    /// 69 when the data directory or an address is unavailable. In both cases the server has answered no
    /// request.
    public static func run(configurationFile: String, handlers: [any HandlerFactory]) async {
        let source = ConfigurationSource(file: configurationFile, handlers: handlers)
        do {
            try await run(
                try source.load(), handlers: handlers, logger: Logger(label: "balloon"), source: source
            ) { _ in }
        } catch let error as ConfigurationError {
            // Write the error here: an error that leaves the main program would cause a trap with a register
            // dump.
            StandardStream.error.write(error.report)
            ProcessEnd.exit(ProcessEnd.configuration)
        } catch {
            StandardStream.error.write("error: \(error)\n")
            ProcessEnd.exit(ProcessEnd.unavailable)
        }
    }

    /// Serves `configuration` until a signal or a cancellation; `didStart` receives the bound addresses.
    ///
    /// With a `source`, the configuration is reloaded on SIGHUP and when a file in the source's folders
    /// changes. Without one, SIGHUP keeps its default action. Stage events go to `observer`, or to the log
    /// without an observer. Operators can change `logLevels` through the control socket. A `standby` first waits
    /// until no other process has the data directory open, and then reads the `source` again; so does a server whose store
    /// is in PostgreSQL until it owns the store.
    package static func run(
        _ configuration: ServerConfiguration, handlers: [any HandlerFactory], logger: Logger,
        observer: (any StageObserver)? = nil, inspector: Inspector? = nil,
        source: ConfigurationSource? = nil, version: String = "unknown",
        commit: String = "unknown", logLevels: LogLevels? = nil, isStandby: Bool = false,
        didStart: ([SocketAddress]) async throws -> Void
    ) async throws {
        let (isStopped, stopWaiters) = (AtomicFlag(), ChangeWaiters())
        let limit = ShutdownLimit(configuration.shutdownTime, logger: logger)
        let signals = TerminationSignals {
            limit.begin()
            isStopped.isSet = true
            stopWaiters.wakeAll()
        }
        defer { limit.end() }
        // All changes that arrive during a reload are merged into one further reload.
        let (hangups, hangup) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let hasChanged = AtomicFlag()
        let change = { @Sendable in
            hasChanged.isSet = true
            hangup.yield()
        }
        let hangupSource = source.map { _ in SignalSource.hangup(change) }
        let watch = source?.watch(logger, changed: change)
        let manager = ServiceNotifier()
        let startTime = StartExtension { report(.starting(within: $0), to: manager, logger) }
        var (configuration, lock, owned) = (configuration, nil as FileLock?, nil as OwnedStore?)
        let standby = Standby(
            configuration, source: source, hasChanged: hasChanged, observer: observer ?? LogObserver(logger),
            logger: logger)
        if isStandby {
            lock = try await standby.waitForLock(until: { isStopped.isSet }) { startTime.advance() }
            guard lock != nil else { return }
        }
        if let postgres = configuration.postgres {
            let directory = configuration.dataDirectory
            if lock == nil { lock = try Store.lockDirectory(directory) }
            guard lock != nil else { throw StoreError.inUse(path: directory, process: nil) }
            owned = try await standby.waitForStore(postgres, until: { isStopped.isSet }) {
                startTime.advance()
            }
            guard owned != nil else { return }
        }
        if isStandby || owned != nil { configuration = standby.latest() }
        for warning in configuration.warnings {
            logger.warning("configuration warning", metadata: ["problem": "\(warning)"])
        }
        var (observer, inspector) = (observer, inspector)
        if inspector == nil, var settings = configuration.inspector {
            settings.webFolder = configuration.webFolder
            let events = InspectorEvents(passingTo: observer ?? LogObserver(logger))
            observer = events
            inspector = Inspector(
                settings, events: events, routes: [], version: version, logger: logger)
        }
        let server = try RunningServer(
            configuration: configuration, handlers: handlers, logger: logger, observer: observer,
            inspector: inspector, lock: lock, owned: owned, version: version, commit: commit,
            logLevels: logLevels,
            recoveryDidAdvance: { startTime.advance() })
        limit.watch(server)
        // Before this server takes messages itself; until then its listener takes them as the others do.
        do {
            let isRead = try await server.readMessages {
                startTime.advance()
                return isStopped.isSet
            }
            await standby.end()
            guard isRead else {
                if await server.stop(within: server.shutdownTime) { await owned?.release() }
                return
            }
        } catch {
            await standby.end()
            if await server.stop(within: server.shutdownTime, grace: .zero) { await owned?.release() }
            throw error
        }
        let addresses = try await server.start()
        report(.ready, to: manager, logger)
        let watchdog = ServiceNotifier.watchdogInterval().map { interval in
            Watchdog(server.progressChecks, interval: interval, logger: logger) {
                report(.alive, to: manager, logger)
            }
        }
        watchdog?.begin()
        defer { watchdog?.end() }
        for address in addresses { logger.notice("server listening", metadata: ["address": "\(address)"]) }
        if let address = inspector?.address {
            logger.notice("inspector listening", metadata: ["address": "\(address)"])
        }
        if let address = server.adminAddress {
            logger.notice("admin listener started", metadata: ["address": "\(address)"])
        }
        do {
            try await didStart(addresses)
        } catch {
            await server.stop(within: server.shutdownTime, grace: .zero)
            throw error
        }
        let reloads = source.map { source in
            Task {
                for await _ in hangups {
                    report(.reloading, to: manager, logger)
                    // Do not wait for handlers that still process events: the next change must not wait for them.
                    await server.reload(source.load)
                    report(.ready, to: manager, logger)
                }
            }
        }
        // A cancellation of the task ends the wait, too.
        await stopWaiters.wait { isStopped.isSet }
        // Do not wait for a running reload, because it may wait for handlers to finish.
        reloads?.cancel()
        logger.notice("server stopping; waiting for work in flight")
        report(.stopping, to: manager, logger)
        if await server.stop(within: server.shutdownTime) {
            await owned?.release()
            logger.notice("server stopped")
            limit.flushLog()
        } else if limit.hasBegun {
            limit.expire()
        } else {
            limit.report()
        }
        withExtendedLifetime((signals, hangupSource, watch)) {}
    }
}

/// Reports a state to the service manager; logs a failed report as a warning.
private func report(_ state: ServiceNotifier.State, to manager: ServiceNotifier, _ logger: Logger) {
    do throws(SystemError) {
        try manager.report(state)
    } catch {
        logger.warning("state not reported to the service manager", metadata: ["error": "\(error)"])
    }
}
