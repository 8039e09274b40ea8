import BalloonPOSIX
import Payments
import Synchronization

/// The bounded number of calls of one business that charge.
///
/// Invariant: a call that is late gives its slot back and counts as late until it ends; no call is cancelled.
///
/// Unlike ``HandlerSlots``, it neither cancels a late call nor lets it keep its slot: only the call itself can
/// say what it charged, which may take minutes.
final class ChargeSlots: Sendable {
    /// The maximum number of calls that are not late.
    private static let maximumCalls = 256
    /// The number of late calls from which on no further call begins.
    private static let maximumLate = 1024
    /// The number of threads for child tasks of handlers that block.
    private static let maximumChildThreads = 64

    private let timings: PaymentTimings
    private let permits = AsyncSemaphore(maximumCalls)
    private let late = Atomic(0)
    private let deadlines = CallDeadlines()
    private let executor: BlockingTaskExecutor

    init(_ timings: PaymentTimings, on threads: SharedThreads) {
        self.timings = timings
        executor = BlockingTaskExecutor(
            maximumThreads: Self.maximumCalls + Self.maximumLate + Self.maximumChildThreads, on: threads)
    }

    /// Runs `call` in a slot and returns its result, however late; the caller's cancellation does not reach it.
    ///
    /// Claims `departure` immediately before the call. Throws ``HandlerPayments/Failure/unavailable`` when the
    /// flag is already claimed, when the task is cancelled during the wait for a slot, and when there are too
    /// many late calls.
    func run<Value: Sendable>(
        _ departure: OnceFlag, _ call: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        guard await permits.acquire() else { throw HandlerPayments.Failure.unavailable }
        guard late.load(ordering: .relaxed) < Self.maximumLate, departure.claim() else {
            permits.release()
            throw HandlerPayments.Failure.unavailable
        }
        let (ticket, hasSlot) = (deadlines.nextTicket(), OnceFlag())
        deadlines.add(ticket, after: timings.answer) { [self] in
            guard hasSlot.claim() else { return }
            late.add(1, ordering: .relaxed)
            permits.release()
        }
        let task = Task(executorPreference: executor) { try await call() }
        let result = await task.result
        deadlines.remove(ticket)
        if hasSlot.claim() { permits.release() } else { late.subtract(1, ordering: .relaxed) }
        return try result.get()
    }
}
