package import BalloonPOSIX
public import HandlerKit
package import Logging
import Synchronization

/// The message server, for programs that bring handlers of their own.
///
/// ```swift
/// import MessageServer
///
/// await Server.run(configurationFile: "config/server.json", handlers: [MyHandlerFactory()])
/// ```
public enum Server {
    /// Serves what the configuration says until SIGTERM or SIGINT, or until the task is cancelled; then drains.
    ///
    /// Stopping takes at most `shutdownSeconds`. When a signal asked for it and something has not ended then, the process
    /// exits with 1; when the task was cancelled, the call returns and leaves it behind, which needs a thread of Swift's pool
    /// that is not blocked. A second signal ends the process at once. SIGHUP, and any change of the `.json` files beside it and in
    /// `businesses`, reads the businesses, the certificate and its key again.
    ///
    /// What is wrong with the configuration goes to standard error, all of it, and the process ends with status 78; with 69
    /// when the data directory or an address cannot be had. Nothing has been served then.
    public static func run(configurationFile: String, handlers: [any HandlerFactory]) async {
        let source = ConfigurationSource(file: configurationFile, handlers: handlers)
        do {
            try await run(
                try source.load(), handlers: handlers, logger: Logger(label: "balloon"), source: source
            ) { _ in }
        } catch let error as ConfigurationError {
            // Thrown by a program's last line it would end in a trap and a page of registers.
            StandardStream.error.write(error.report)
            ProcessEnd.exit(ProcessEnd.configuration)
        } catch {
            StandardStream.error.write("error: \(error)\n")
            ProcessEnd.exit(ProcessEnd.unavailable)
        }
    }

    /// Serves `configuration` until a signal or a cancellation; `didStart` gets the bound addresses.
    ///
    /// With a `source` it is read again on SIGHUP and when its folders change; without one SIGHUP keeps its meaning.
    /// Stages go to `observer`, or to the log when it is nil.
    package static func run(
        _ configuration: ServerConfiguration, handlers: [any HandlerFactory], logger: Logger,
        observer: (any StageObserver)? = nil, source: ConfigurationSource? = nil,
        didStart: ([SocketAddress]) async throws -> Void
    ) async throws {
        let stop = StopSignal()
        let limit = ShutdownLimit(configuration.shutdownTime, logger: logger)
        let signals = TerminationSignals {
            limit.begin()
            stop.send()
        }
        defer { limit.end() }
        // One that comes while another is worked on is kept, and stands for all that come with it.
        let (hangups, hangup) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let hangupSource = source.map { _ in SignalSource.hangup { hangup.yield() } }
        let watch = source?.watch(logger) { hangup.yield() }
        let server = try RunningServer(
            configuration: configuration, handlers: handlers, logger: logger, observer: observer)
        limit.watch(server)
        let addresses = try await server.start()
        for address in addresses { logger.notice("listening", metadata: ["address": "\(address)"]) }
        do {
            try await didStart(addresses)
        } catch {
            await server.stop(within: configuration.shutdownTime, grace: .zero)
            throw error
        }
        let reloads = source.map { source in
            Task { for await _ in hangups { await server.reload(source.load) } }
        }
        await stop.wait()
        // Not waited for: a reload waits for handlers that end.
        reloads?.cancel()
        logger.notice("draining")
        if await server.stop(within: configuration.shutdownTime) {
            logger.notice("stopped")
        } else if limit.hasBegun {
            limit.expire()
        } else {
            limit.report()
        }
        withExtendedLifetime((signals, hangupSource, watch)) {}
    }
}

/// Waits for a signal, or for the task's cancellation.
private final class StopSignal: Sendable {
    private enum State {
        case running
        case waiting(CheckedContinuation<Void, Never>)
        case stopped
    }

    private let state = Mutex(State.running)

    func send() {
        let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
            defer { state = .stopped }
            if case .waiting(let continuation) = state { return continuation }
            return nil
        }
        waiting?.resume()
    }

    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isStopped = state.withLock { state in
                    if case .stopped = state { return true }
                    state = .waiting(continuation)
                    return false
                }
                if isStopped { continuation.resume() }
            }
        } onCancel: {
            send()
        }
    }
}
