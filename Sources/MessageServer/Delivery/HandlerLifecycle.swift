import BalloonPOSIX
import HandlerKit
import Logging
import Synchronization

/// One handler from its start to its shutdown.
final class HandlerLifecycle: Sendable {
    private struct State {
        var provisioning: Task<Void, Never>?
        var isProvisioned = false
        /// Whether the shutdown has begun; the handler is not started any more.
        var isEnding = false
        let made = ContinuousClock.now
    }

    let handler: any Handler
    /// The handler as an `EventHandler`, which represents code outside the process; nil for any other
    /// handler.
    ///
    /// It is cast once, because a cast for each event would cost a microsecond.
    private let bridge: (any EventHandler)?
    private let host: HandlerHost
    private let gate = ReadinessGate()
    private let state = Mutex(State())

    /// The time limit of a shutdown; longer than the grace period of a child process before it is killed.
    static let maximumShutdown = Duration.seconds(15)
    private static let provisionBackoff = Backoff(from: .seconds(1), to: .seconds(30))

    init(_ handler: any Handler, host: HandlerHost) {
        self.handler = handler
        bridge = handler as? any EventHandler
        self.host = host
    }

    /// Whether the handler's code is outside this process, so that it cannot crash this process.
    var isOutside: Bool { bridge != nil }

    /// How many events the handler accepts at a time; nil when it names no limit.
    var maximumInFlight: Int? { bridge?.maximumInFlight }

    /// Whether the handler was provisioned, so that it can be called.
    var isProvisioned: Bool { state.withLock { $0.isProvisioned && !$0.isEnding } }

    /// Since when the handler accepts no events; nil while it accepts them.
    var downSince: ContinuousClock.Instant? {
        if let made = state.withLock({ $0.isProvisioned ? nil : $0.made }) { return made }
        return bridge?.downSince
    }

    /// The status of the handler.
    var report: HandlerReport {
        get async {
            if let bridge { return await bridge.report }
            return HandlerReport(health: state.withLock { $0.isProvisioned } ? .ready : .starting)
        }
    }

    /// Begins to provision the handler; its events wait meanwhile.
    func start() {
        guard let handler = handler as? any LifecycleHandler else { return ready() }
        // Provisioning may block, so it runs on a separate thread and delays no other business.
        let executor = BlockingTaskExecutor()
        state.withLock { state in
            // A reload may call this method while the server is stopping.
            guard !state.isEnding else { return }
            state.provisioning = Task(executorPreference: executor) { await self.provision(handler) }
        }
    }

    /// Waits until the handler accepts events; false when it never will again, or when the task is cancelled.
    func waitUntilReady() async -> Bool {
        guard await gate.wait() else { return false }
        return await bridge?.waitUntilReady() ?? true
    }

    /// Waits at most `time` until the handler accepts events; nil at the timeout, false when it never will again.
    func waitUntilReady(within time: Duration) async -> Bool? {
        let isReady = await withTimeLimit(time) { await self.waitUntilReady() }
        return isReady ?? (Task.isCancelled ? false : nil)
    }

    /// Ends all waits for the handler.
    func stopWaiting() {
        gate.closeForGood()
        bridge?.stopWaiting()
    }

    /// Shuts down the handler that ``start()`` started, once; cancels the shutdown after `time`.
    func shutdown(within time: Duration = maximumShutdown) async {
        stopWaiting()
        let (isEnding, task) = state.withLock { state in
            defer { state.isEnding = true }
            return (state.isEnding, state.provisioning)
        }
        guard !isEnding, let handler = handler as? any LifecycleHandler else { return }
        task?.cancel()
        let ending = Task {
            await task?.value
            if self.state.withLock({ $0.isProvisioned }) { await handler.shutdown() }
        }
        if await ending.value(within: min(time, Self.maximumShutdown)) == nil { ending.cancel() }
    }

    private func ready() {
        state.withLock { $0.isProvisioned = true }
        gate.open()
    }

    private func provision(_ handler: any LifecycleHandler) async {
        var backoff = Self.provisionBackoff
        while !Task.isCancelled {
            do {
                try await handler.provision(host)
                return ready()
            } catch {
                if Task.isCancelled { return }
                // The error's text may contain a secret; its type cannot.
                let reason = (error as? any LoggableError)?.reason ?? "\(type(of: error))"
                host.logger.error(
                    "the handler could not prepare itself (provision); its events wait, and it is asked again",
                    metadata: ["error": "\(reason)"])
            }
            // The shutdown cancels this sleep.
            _ = try? await Task.sleep(for: backoff.fail())
        }
    }
}
