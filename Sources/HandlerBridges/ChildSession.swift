package import BalloonPOSIX
import Dispatch
package import HandlerKit
package import HandlerProtocol
package import Logging

/// One child process from start to end, with its calls and messages.
package actor ChildSession {
    /// The answer to a call, or the reason why it has no answer.
    package typealias Answer = Result<JSONValue, BridgeError>

    /// The maximum number of noise lines of a process that `handlers logs` shows.
    ///
    /// A noise line is a line on standard output that is not a protocol message.
    static let maximumKeptNoise = 20
    /// The maximum number of noise lines before the handshake; a program that writes more is not a handler.
    static let maximumNoiseBeforeHandshake = 50
    /// The time that a call waits for the end of the process after writing the call failed.
    ///
    /// If the process ends in this time, the call fails with `ended`, otherwise with `notReading`.
    private static let patienceForEnd = Duration.seconds(5)
    /// The length of a pause in reading from a child that writes too many lines.
    static let floodPause = Duration.milliseconds(100)
    /// The maximum bytes for the child that may wait in memory because it does not read its input.
    private static let maximumPendingBytes = 8 << 20

    nonisolated let executor: QueueExecutor
    /// The executor of this actor, whose queue also runs the callbacks of the process and its pipes.
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    let logger: Logger
    private let loop: DescriptorLoop
    private let timings: ChildTimings
    var process: SpawnedProcess?
    private var input: PipeWriter?
    var output: PipeReader?
    var errors: PipeReader?
    var splitter = LineSplitter(maximumBytes: ProtocolVersion.maximumLineBytes)
    var relay: StandardErrorRelay
    /// The host that accepts messages which the program sends without an event.
    let host: HandlerHost?
    /// The file that records the process id; nil when there is no scratch directory.
    private let orphan: OrphanProcessFile?
    var repliesInFlight = 0
    var pending: [Int: CheckedContinuation<Answer, Never>] = [:]
    /// The pending calls that may charge a customer; the process is not killed as long as there is one.
    private var charging: Set<Int> = []
    private var chargeWaiters: [CheckedContinuation<Void, Never>] = []
    private var refusesCharges = false
    private var nextID = 1
    private var isStopped = false
    var isIntroduced = false
    private var isChecking = false
    var heard = 0
    var noiseCount = 0
    /// The beginning of the first noise line; it is not logged, because it may contain customer text.
    package internal(set) var firstNoise: String?
    /// The number of answers whose id matched no open call.
    package internal(set) var strayAnswerCount = 0
    /// Counts all lines that are not the answer to a pending call.
    var unaskedRate = FloodGauge()
    var isFlooding = false
    /// Whether the child is being killed because it writes no protocol messages; its further lines are
    /// ignored.
    var isCondemned = false
    private var isWatched = false
    private var exit: SpawnedProcess.Exit?
    private var exitWaiters: [CheckedContinuation<SpawnedProcess.Exit, Never>] = []

    /// The maximum number of calls of the program, such as messages without an event, that may wait for the
    /// disk.
    static let maximumReplies = 256

    /// Prepares one run of the program, which ``start(_:)`` starts.
    ///
    /// The process is recorded in `scratchDirectory`, unless that is nil.
    package init(
        label: String, loop: DescriptorLoop, timings: ChildTimings, host: HandlerHost?, tail: LogTail,
        scratchDirectory: String? = nil, logger: Logger
    ) {
        orphan = scratchDirectory.map { OrphanProcessFile(directory: $0) }
        self.loop = loop
        executor = QueueExecutor(label: label)
        self.timings = timings
        self.logger = logger
        self.host = host
        relay = StandardErrorRelay(logger, tail: tail)
    }

    /// The process's id, while it runs.
    var processID: Int32? { exit == nil ? process?.id : nil }

    /// Starts the process once; returns false when the session was stopped before.
    package func start(_ program: SpawnedProcess.Program) throws(SystemError) -> Bool {
        guard !isStopped else { return false }
        let queue = executor.queue
        if let orphan, orphan.end(grace: timings.grace, queue: queue) {
            logger.warning("handler process of an earlier server still running; ending it")
        }
        let (process, streams) = try SpawnedProcess.start(program, queue: queue, loop: loop) { exit in
            self.assumeIsolated { $0.ended(exit) }
        }
        self.process = process
        orphan?.record(process.id)
        input = PipeWriter(
            owning: streams.input, queue: queue, loop: loop, maximumPendingBytes: Self.maximumPendingBytes)
        do throws(SystemError) {
            // From here on these values close the descriptors, even if watching them fails.
            let (output, errors) = (
                OwnedDescriptor(owning: streams.output), OwnedDescriptor(owning: streams.error)
            )
            self.output = try PipeReader(output, queue: queue, loop: loop) { bytes in
                self.assumeIsolated { $0.take(bytes) }
            }
            self.errors = try PipeReader(errors, queue: queue, loop: loop) { bytes in
                self.assumeIsolated { $0.takeLog(bytes) }
            }
        } catch {
            // Kill a process whose output cannot be read; its end is still detected.
            process.signalGroup(TerminationSignal.final)
            throw error
        }
        return true
    }

    /// Makes a call and waits for its answer, at most `time`; cancelling the task ends the wait.
    ///
    /// While a call that `charges` is pending, a process that writes nothing is not killed: a program that does
    /// one thing at a time is silent while it waits for its payment provider.
    package func call(
        within time: Duration?, charges: Bool = false, _ write: (_ id: Int) -> [UInt8]
    ) async -> Answer {
        let id = nextID
        nextID += 1
        let line = write(id)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard exit == nil, let input, !(charges && refusesCharges) else {
                    return continuation.resume(returning: .failure(.notRunning))
                }
                // If the task was cancelled before this point, `onCancel` has not found the call in
                // `pending`.
                guard !Task.isCancelled else { return continuation.resume(returning: .failure(.cancelled)) }
                pending[id] = continuation
                if charges { charging.insert(id) }
                watch()
                // If writing failed because the process has ended, the call fails with `ended` as soon as the
                // end is reported. Otherwise the child does not read its input.
                guard input.write(line) else {
                    return expire(id, after: Self.patienceForEnd, as: .notReading)
                }
                if let time { expire(id, after: time) }
            }
        } onCancel: {
            executor.queue.async { self.assumeIsolated { $0.settle(id, .failure(.cancelled)) } }
        }
    }

    /// Writes a line that needs no answer; the line is lost if it cannot be written.
    package func notify(_ line: [UInt8]) { _ = input?.write(line) }

    /// Whether the child has read all of its input; also true when its input is closed.
    package var hasReadAll: Bool { input?.isDrained ?? true }

    /// Marks the handshake as complete; from then on the child is not killed for noise lines.
    func introduced() { isIntroduced = true }

    /// Completes the handshake: sends `initialize`, and returns how the child introduces itself.
    ///
    /// Throws a ``BridgeError`` or, for an answer that breaks the protocol, a `HandlerProtocolError`.
    package func introduce(_ initialization: Initialization) async throws -> Introduction {
        let answer = await call(within: timings.handshake) { id in
            RPCLine.request(id: id, method: Method.initialize) { initialization.write(to: &$0) }
        }
        let introduction = try Introduction(try answer.get())
        introduced()
        return introduction
    }

    /// Tells the program that a call was cancelled, and checks for life when it did not answer or read.
    func check(after error: BridgeError, cancelling call: (inout JSONWriter) -> Void) {
        if error == .cancelled { notify(RPCLine.notification(method: Method.cancel, call)) }
        if error == .cancelled || error == .notReading { checkForLife() }
    }

    /// Sends a ping, and kills the process group unless the process writes something within the time limit.
    func checkForLife() {
        guard !isChecking, exit == nil else { return }
        isChecking = true
        let before = heard
        // Do not wait for this answer: any output counts as a sign of life.
        notify(RPCLine.request(id: nextID, method: Method.ping))
        nextID += 1
        after(timings.signOfLife) { $0.endCheck(before) }
    }

    /// Checks periodically, while calls are pending, and sends a ping when the child wrote nothing since the
    /// last check.
    private func watch() {
        guard !isWatched else { return }
        isWatched = true
        let before = heard
        after(timings.silence) { $0.endWatch(before) }
    }

    private func endWatch(_ before: Int) {
        isWatched = false
        guard exit == nil, !pending.isEmpty else { return }
        if heard == before { checkForLife() }
        watch()
    }

    private func endCheck(_ before: Int) {
        isChecking = false
        guard heard == before, exit == nil, charging.isEmpty else { return }
        logger.warning("handler hangs; killing it")
        process?.signalGroup(TerminationSignal.final)
    }

    /// Whether a pending call may charge a customer.
    var isCharging: Bool { !charging.isEmpty }

    /// Refuses new calls that may charge a customer, and waits for the pending ones; each has a time limit.
    func endCharges() async {
        refusesCharges = true
        if charging.isEmpty { return }
        await withCheckedContinuation { chargeWaiters.append($0) }
    }

    /// Waits for the process's end.
    package func waitForExit() async -> SpawnedProcess.Exit {
        await withCheckedContinuation { continuation in
            // The process may have ended already.
            if let exit { return continuation.resume(returning: exit) }
            exitWaiters.append(continuation)
        }
    }

    /// Ends the process: sends `shutdown`, closes its input, and then sends SIGTERM and SIGKILL after grace
    /// periods.
    package func stop() async {
        isStopped = true
        // A process that never started has no exit to wait for.
        guard exit == nil, process != nil else { return }
        notify(RPCLine.request(id: nextID, method: Method.shutdown))
        nextID += 1
        // A program that ignores `shutdown` can still notice the end of its input.
        input?.close()
        after(timings.grace) { $0.signal(TerminationSignal.polite) }
        after(timings.grace * 2) { $0.signal(TerminationSignal.final) }
        _ = await waitForExit()
    }

    /// Kills the process and everything that it started, at once, and waits for its end.
    package func kill() async {
        signal(TerminationSignal.final)
        if process != nil { _ = await waitForExit() }
    }

    private func signal(_ number: Int32) {
        if exit == nil { process?.signalGroup(number) }
    }

    private func expire(_ id: Int, after time: Duration, as error: BridgeError = .timedOut) {
        after(time) { $0.settle(id, .failure(error)) }
    }

    private func after(_ time: Duration, _ action: @escaping @Sendable (isolated ChildSession) -> Void) {
        executor.queue.asyncAfter(deadline: .now() + time.dispatchInterval) { self.assumeIsolated(action) }
    }

    func settle(_ id: Int, _ answer: Answer) {
        pending.removeValue(forKey: id)?.resume(returning: answer)
        guard charging.remove(id) != nil, charging.isEmpty else { return }
        for waiter in chargeWaiters { waiter.resume() }
        chargeWaiters = []
    }

    private func ended(_ exit: SpawnedProcess.Exit) {
        if let process { orphan?.remove(process.id) }
        // First process the output that the child wrote before its exit.
        output?.finish()
        errors?.finish()
        input?.close()
        self.exit = exit
        (output, errors, input) = (nil, nil, nil)
        for id in pending.keys.sorted() { settle(id, .failure(.ended)) }
        for waiter in exitWaiters { waiter.resume(returning: exit) }
        exitWaiters = []
    }
}
