import BalloonPOSIX
package import HandlerKit
import HandlerProtocol
import Logging
import Synchronization

/// A handler that runs as a long-lived child process.
package final class ChildHandler: EventHandler, LifecycleHandler, RetentionHandler {
    private struct State {
        var health = HandlerHealth.stopped
        var introduction: Introduction?
        var session: ChildSession?
        var supervisor: Task<Void, Never>?
        /// The pause before the next start of the process; cancelling it starts the process at once.
        var pause: Task<Void, Never>?
        var restarts = 0
        /// The number of lines that previous processes wrote to standard output and that are no protocol
        /// messages.
        var noiseLines = 0
        var isStopping = false
        /// Whether ``restart()`` is ending the process, which is then started again without a pause.
        var isRestarting = false
        var host: HandlerHost?
        /// The time since when the process is not ready; nil while it is ready.
        var downSince: ContinuousClock.Instant? = .now
    }

    /// The maximum number of characters of a program's error message in `handlers logs`.
    private static let maximumQuoteBytes = 500

    private let program: SpawnedProcess.Program
    private let request: HandlerBindingRequest
    private let timings: ChildTimings
    private let loop: DescriptorLoop
    private let logger: Logger
    private let gate = ReadinessGate()
    private let tail = LogTail()
    private let state = Mutex(State())

    init(
        _ program: SpawnedProcess.Program, _ request: HandlerBindingRequest, timings: ChildTimings,
        loop: DescriptorLoop
    ) {
        self.loop = loop
        self.program = program
        self.request = request
        self.timings = timings
        var logger = request.logger
        logger[metadataKey: "handler"] = "\(request.slug)"
        self.logger = logger
    }

    /// The subscriptions that the process reported; before the first report, all that exist.
    package var subscriptions: Set<Subscription> {
        state.withLock { $0.introduction?.events } ?? Set(Subscription.all)
    }

    /// The callbacks of payments that the process reported; nil before the first report.
    package var payments: Set<PaymentCallback.Kind>? { state.withLock { $0.introduction?.payments } }

    /// The limit of concurrent events that the process reported; nil before its first report.
    package var maximumInFlight: Int? { state.withLock { $0.introduction?.maximumInFlight } }

    /// The lifecycle state.
    package var health: HandlerHealth { state.withLock { $0.health } }

    /// The number of restarts.
    package var restarts: Int { state.withLock { $0.restarts } }

    /// The time since when the process is not ready; nil while it is ready.
    package var downSince: ContinuousClock.Instant? { state.withLock { $0.downSince } }

    /// The status, with the process id while a process runs.
    package var report: HandlerReport {
        get async {
            let state = self.state.withLock { $0 }
            let noiseLines = state.noiseLines + (await state.session?.noiseCount ?? 0)
            return HandlerReport(
                health: state.health, restarts: state.restarts, processID: await state.session?.processID,
                noiseLines: noiseLines, lines: tail.lines)
        }
    }

    /// The current process; nil while none runs.
    var session: ChildSession? { state.withLock { $0.session } }

    /// Waits until the process has completed the handshake; returns false after ``stopWaiting()``, or when
    /// the task is cancelled.
    package func waitUntilReady() async -> Bool { await gate.wait() }

    /// Makes all current and later calls of ``waitUntilReady()`` return false, so that no further event is
    /// sent.
    package func stopWaiting() { gate.closeForGood() }

    /// Starts a task that starts the process and restarts it whenever it ends; returns at once.
    package func provision(_ host: HandlerHost) async {
        state.withLock { state in
            guard state.supervisor == nil else { return }
            state.host = host
            state.supervisor = Task { await self.supervise() }
        }
    }

    /// Ends the process: closes its standard input, and then sends SIGTERM and SIGKILL, each after a grace
    /// period.
    ///
    /// Sends SIGKILL at once when the task is cancelled.
    package func shutdown() async {
        gate.closeForGood()
        let (session, supervisor, pause) = state.withLock { state in
            state.isStopping = true
            return (state.session, state.supervisor, state.pause)
        }
        pause?.cancel()
        await withTaskCancellationHandler {
            await session?.stop()
            await supervisor?.value
        } onCancel: {
            // Do not wait for the kill: the process cannot ignore SIGKILL.
            Task { await session?.kill() }
        }
    }

    /// Ends the process and starts it again at once, even while restarts are suspended.
    ///
    /// Events and payments wait meanwhile. A process that charges a customer ends when its charging calls have
    /// ended, because nobody could say otherwise whether its payment provider charges.
    package func restart() async {
        if let session {
            gate.close()
            if await session.isCharging { logger.notice("handler restarts when its payments have ended") }
            await session.endCharges()
        }
        let (session, pause) = state.withLock { state in
            if state.session != nil { state.isRestarting = true }
            return (state.session, state.pause)
        }
        pause?.cancel()
        await session?.stop()
    }

    /// Kills the process; the server restarts it after the same pause as after a crash.
    package func crash() async -> Bool {
        guard let session else { return false }
        await session.kill()
        return true
    }

    /// Adds the complete explanation of a refused answer to the lines that `handlers logs` shows.
    package func recordRefusal(_ refusal: AnswerRefusal, of delivery: DeliveryID) {
        tail.append(refusal, of: delivery)
    }

    /// Sends the event to the process and returns its outcome.
    package func handle(_ context: Context) async throws -> Outcome {
        guard let session else { throw BridgeError.notRunning }
        // Read the history before the handler is called, so that an unreadable history fails the event. The
        // thread here may wait for the disk.
        _ = try context.conversation.read()
        let message = context.event.message.text
        let file =
            message.count > ProtocolVersion.maximumInlineBytes
            ? try ScratchFile.write(
                message, in: request.scratchDirectory, name: context.deliveryID.rawValue) : nil
        defer { file?.remove() }
        let answer = await session.call(within: nil) { id in
            RPCLine.request(id: id, method: Method.event) { writer in
                EventCall.write(context, messagePath: file?.path, to: &writer)
            }
        }
        return try await outcome(answer, of: context, session)
    }

    private func outcome(
        _ answer: ChildSession.Answer, of context: Context, _ session: ChildSession
    ) async throws -> Outcome {
        switch answer {
        case .success(let result):
            return try EventAnswer.outcome(result, changing: context.state, allowingFiles: true)
        case .failure(.refused(let failure))
        where [RPCFailure.Code.permanent, RPCFailure.Code.unparseable].contains(failure.code)
            && !failure.problems.isEmpty:
            throw AnswerRefusal(failure.problems)
        case .failure(.refused(let failure)):
            // The handler's error message may quote a customer, so it is kept in memory only.
            tail.append(
                "[error] delivery \(context.record): the handler answered with error "
                    + "\(failure.code): \(failure.message.shortened(toBytes: Self.maximumQuoteBytes))")
            return try outcome(failure)
        case .failure(let error):
            await session.check(after: error) { $0.field("deliveryId", context.deliveryID.rawValue) }
            throw error
        }
    }

    private func outcome(_ failure: RPCFailure) throws(BridgeError) -> Outcome {
        switch failure.code {
        case RPCFailure.Code.permanent: .reject(reason: "the handler refused the event")
        case RPCFailure.Code.busy: .retry(after: failure.retryAfter ?? .seconds(1))
        default: throw .refused(failure)
        }
    }

    /// Sends the App Store's question to the process and returns its choice.
    package func retention(
        _ request: RetentionRequest, _ context: RetentionContext
    ) async throws -> RetentionChoice? {
        let (session, introduction) = state.withLock { ($0.session, $0.introduction) }
        guard let session, health == .ready else { throw BridgeError.notRunning }
        guard introduction?.answersRetention == true else { throw BridgeError.noRetention }
        let answer = await session.call(within: nil) { id in
            RPCLine.request(id: id, method: Method.retention) { writer in
                RetentionCall.write(request, context, to: &writer)
            }
        }
        switch answer {
        case .success(let result): return try RetentionCall.choice(result)
        case .failure(.cancelled), .failure(.notReading):
            // If the handler hangs, kill it; it is then restarted.
            await session.checkForLife()
            throw BridgeError.timedOut
        case .failure(let error): throw error
        }
    }
}

extension ChildHandler {
    private func supervise() async {
        var restarts = timings.restarts
        while !state.withLock({ $0.isStopping }) {
            let begun = ContinuousClock.now
            await live()
            gate.close()
            let isRestarting = state.withLock { state in
                defer { state.isRestarting = false }
                return state.isRestarting
            }
            guard !isRestarting else {
                restarts.reset()
                continue
            }
            let decision = restarts.decide(at: .now, ran: .now - begun, random: .random(in: 0...1))
            switch decision {
            case .restart(let pause): await wait(pause, as: .restarting)
            case .giveRest(let rest):
                logger.error(
                    "handler ends too often; its events wait, and it is started again after a pause",
                    metadata: [
                        "rest_ms": "\(rest.milliseconds)", "program": "\(program.command.first ?? "")",
                        "hint": "run `balloon handlers restart \(request.slug)` to restart it now",
                    ])
                await wait(rest, as: .open)
                restarts.reset()
            }
        }
        state.withLock { state in
            state.health = .stopped
            state.session = nil
        }
    }

    /// Starts a process, completes the handshake with it, and waits until it ends.
    private func live() async {
        let session = ChildSession(
            label: "balloon.child.\(request.slug)", loop: loop, timings: timings,
            host: state.withLock { $0.host }, tail: tail,
            scratchDirectory: request.scratchDirectory, logger: logger)
        let mayStart = state.withLock { state in
            guard !state.isStopping else { return false }
            state.health = .starting
            state.session = session
            return true
        }
        guard mayStart else { return }
        defer { state.withLock { $0.session = nil } }
        do throws(SystemError) {
            guard try await session.start(program) else { return }
        } catch {
            let name = program.command.first ?? ""
            return logger.error(
                "handler cannot be started",
                metadata: [
                    "program": "\(name)", "error": "\(error)", "hint": "\(program.advice(about: error))",
                ])
        }
        if let introduction = await introduce(session) {
            state.withLock { state in
                state.introduction = introduction
                state.health = .ready
                state.downSince = nil
            }
            logger.notice(
                "handler is ready", metadata: ["name": "\(introduction.name?.shortened(toBytes: 100) ?? "")"])
            gate.open()
        } else {
            await session.kill()
        }
        let exit = await session.waitForExit()
        gate.close()
        let noise = await session.noiseCount
        let isWanted = state.withLock { state in
            // `noiseLines` now includes the lines of this process, so remove the session, whose lines would
            // otherwise be counted twice.
            state.session = nil
            state.noiseLines += noise
            if state.downSince == nil { state.downSince = .now }
            if !state.isStopping { state.restarts += 1 }
            return state.isStopping || state.isRestarting
        }
        logger.log(
            level: isWanted ? .info : .warning, "handler process ended",
            metadata: ["exit": "\(exit)", "noise_lines": "\(noise)"])
    }

    private func introduce(_ session: ChildSession) async -> Introduction? {
        let initialization = Initialization(
            business: request.business, slug: request.slug, configuration: request.binding["config"],
            maximumInFlight: request.maximumInFlight, deadline: request.deadline)
        do {
            return try await session.introduce(initialization)
        } catch {
            let reason = (error as? BridgeError)?.reason ?? "\(error)"
            var metadata: Logger.Metadata = ["reason": "\(reason)"]
            // Log the message: before the handshake the process knows no customer, and the message usually
            // names a configuration problem.
            if case BridgeError.refused(let failure) = error {
                metadata["says"] = "\(failure.message.shortened(toBytes: 500))"
            }
            logger.error("handler did not complete the handshake", metadata: metadata)
            tail.append("[error] handshake refused: \(reason)")
            return nil
        }
    }

    private func wait(_ time: Duration, as health: HandlerHealth) async {
        let pause = state.withLock { state -> Task<Void, Never>? in
            guard !state.isStopping else { return nil }
            state.health = health
            // A cancellation ends the pause early.
            let pause = Task { _ = try? await Task.sleep(for: time) }
            state.pause = pause
            return pause
        }
        await pause?.value
        state.withLock { $0.pause = nil }
    }
}
