package import BalloonPOSIX
public import HandlerKit
package import Logging
import Synchronization

/// The message server, for programs that bring handlers of their own.
///
/// ```swift
/// import MessageServer
///
/// try await Server.run(configurationFile: "config/server.json", handlers: [MyHandlerFactory()])
/// ```
public enum Server {
    /// How long requests and deliveries under way may take when the server stops.
    static let grace = Duration.seconds(20)

    /// Serves what the configuration says until SIGTERM or SIGINT, or until the task is cancelled; then drains.
    ///
    /// A second signal ends the process at once; SIGHUP reads the certificate and its key again. Throws what is wrong with the configuration, the data directory or
    /// the address, before anything is served.
    public static func run(configurationFile: String, handlers: [any HandlerFactory]) async throws {
        let configuration = try ConfigurationLoader.load(
            file: configurationFile, environment: ProcessEnvironment.variables(), handlers: handlers)
        try await run(
            configuration, handlers: handlers, logger: Logger(label: "balloon"), reloadsOnHangup: true
        ) { _ in }
    }

    /// Serves `configuration` until a signal or a cancellation; `didStart` gets the bound addresses.
    ///
    /// SIGHUP calls ``RunningServer/reload()`` where `reloadsOnHangup` says so, and keeps its meaning elsewhere.
    package static func run(
        _ configuration: ServerConfiguration, handlers: [any HandlerFactory], logger: Logger,
        reloadsOnHangup: Bool = false, didStart: ([SocketAddress]) async throws -> Void
    ) async throws {
        let stop = StopSignal()
        let signals = TerminationSignals { stop.send() }
        // One that comes while another is worked on is kept, and stands for all that come with it.
        let (hangups, hangup) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let hangupSource = reloadsOnHangup ? SignalSource.hangup { hangup.yield() } : nil
        let server = try RunningServer(configuration: configuration, handlers: handlers, logger: logger)
        let addresses = try await server.start()
        for address in addresses { logger.notice("listening", metadata: ["address": "\(address)"]) }
        do {
            try await didStart(addresses)
        } catch {
            await server.stop(within: .zero)
            throw error
        }
        await withDiscardingTaskGroup { group in
            group.addTask { for await _ in hangups { await server.reload() } }
            await stop.wait()
            hangup.finish()
        }
        logger.notice("draining")
        await server.stop(within: grace)
        logger.notice("stopped")
        withExtendedLifetime((signals, hangupSource)) {}
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
