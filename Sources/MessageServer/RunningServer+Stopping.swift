import BalloonHTTP
import BalloonPOSIX
import BalloonTLS
import GatewayClient
import HandlerKit
import Logging
import MessageStore
import Replication
import SignIn
import Synchronization

/// The stop, in the reverse order of the start.
extension RunningServer {
    /// The time limit for a stop that begins now.
    package var shutdownTime: Duration { configuration.shutdownTime }

    /// The work that would remain unfinished if the process ended now.
    package var leftover: Leftover {
        Leftover(
            connections: http.connectionCount + (admin?.connectionCount ?? 0),
            handlerCalls: registry.callCount,
            pendingDeliveries: store.statistics.pendingDeliveries, queuedReplies: store.queuedReplyCount)
    }

    /// Stops within `limit`, even when a handler, a download, a reload or the disk hangs; returns false when
    /// work remained unfinished.
    ///
    /// New connections are refused. Requests and deliveries in flight may finish within `grace`: by default
    /// until five seconds before the limit, or until half of a limit below ten seconds. Then deliveries are
    /// cancelled, handlers are shut down, and the store is synced and closed.
    @discardableResult
    package func stop(within limit: Duration, grace: Duration? = nil) async -> Bool {
        let times = StopTimes(limit, grace: grace)
        return await Task { await stop(times) }.value(within: limit) ?? false
    }

    /// Records that the process was asked to stop; from then on, no delivery counts an attempt or a crash.
    package func recordStop() { store.recordStop() }

    /// Kills the process of a business's handler, which is restarted as after a crash, if it has one.
    package func crashHandler(of slug: String) async { _ = try? await registry.operated(slug).crash() }

    func stop(_ times: StopTimes) async -> Bool {
        isDraining.isSet = true
        recordStop()
        let isInherited = configuration.inheritedSockets["public"] != nil
        // Without an explicit delay, drain only for a prober. The connections of an inherited socket wait for the
        // next process.
        let probed = !isInherited && readinessWatch.isAsked() ? ServerConfiguration.defaultDrainDelay : .zero
        let delay = configuration.drainDelay ?? probed
        if delay > .zero {
            // A load balancer sends connections until it has seen the 503 of /readyz. A cancelled wait ends early.
            try? await Task.sleep(for: min(delay, times.longestDrain))
        }
        // Work that waits for the disk resumes after a restart: the stop does not wait for it.
        if store.isHeldUp { pipelines.sender.outcomes.cancelAll() }
        events.stop()
        levers?.end()
        // A program whose wait ends here repeats its request, and the next process returns the outcome.
        pipelines.sender.outcomes.stopWaiting()
        async let adminStop: Void? = admin?.stop(within: times.grace)
        async let inspectorStop: Void? = inspector?.stop(within: .zero)
        let signInEnd = Task { [signInFlow] in
            let left = times.graceLeft
            // A cancelled sleep means that all requests were answered.
            guard (try? await Task.sleep(for: max(left / 2, left - .seconds(1)))) != nil else { return }
            // Cancel the callbacks now, so that browsers get an answer before their connections close.
            signInFlow.stop()
        }
        // A client with an open connection may be sending its next request.
        await http.stop(within: times.graceLeft, idle: isInherited || delay > .zero ? .seconds(1) : .zero)
        await owned?.endMessages()
        signInEnd.cancel()
        signInFlow.stop()
        _ = await (adminStop, inspectorStop)
        // Workers end when the store stops leasing; leased deliveries may still finish.
        store.stopLeasing()
        registry.stopWaiting()
        pipelines.watch.stop()
        pipelines.typing.stop()
        payments.stop()
        sweeping.withLock { for task in $0 { task.cancel() } }
        await endRetention()
        let haveEnded = await endDeliveries(times)
        let left = store.statistics.pendingDeliveries
        if left > 0 {
            logger.notice(
                "stopping with unfinished deliveries; the next start resumes them",
                metadata: ["count": "\(left)"])
        }
        let queued = store.queuedReplyCount
        if queued > 0 {
            logger.notice(
                "stopping with unsent replies; the next start sends them", metadata: ["count": "\(queued)"])
        }
        await store.close()
        return haveEnded
    }

    /// Writes the queued decisions about retention messages, and ends the tasks that read states and delete
    /// records.
    private func endRetention() async {
        retention?.finish()
        let tasks = retaining.withLock { $0 }
        // The first task ends by itself when the queued decisions are written.
        for task in tasks.dropFirst() { task.cancel() }
        for task in tasks { _ = await task.value(within: .seconds(1)) }
    }

    /// Waits for the deliveries and shuts down the handlers; false when a delivery does not end even after
    /// its cancellation.
    private func endDeliveries(_ times: StopTimes) async -> Bool {
        let task = work.withLock { $0 } ?? Task {}
        let isInTime = await task.value(within: times.graceLeft) != nil
        if !isInTime { task.cancel() }
        // Shutting down a handler releases the deliveries that wait for it.
        async let handlers: Void = registry.shutdown(within: times.handlersLeft)
        async let appHandlers: Void? = retention?.shutdown(within: times.handlersLeft)
        let haveEnded = isInTime ? true : await task.value(within: times.cancelledLeft) != nil
        await handlers
        await appHandlers
        return haveEnded
    }
}
