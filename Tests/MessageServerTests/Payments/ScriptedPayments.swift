import BalloonPOSIX
import BusinessMessages
import Payments
import Synchronization

@testable import MessageServer

/// A handler of payments that answers what a test says, and remembers its calls.
final class ScriptedPayments: PaymentHandling {
    struct Refusal: Error {}

    private struct State {
        var callbacks = Set(PaymentCallback.Kind.allCases)
        var paid: [String] = []
        var reversed: [String] = []
        var updates = 0
        var tracked = 0
    }

    typealias Pay = @Sendable (PaymentHandlerCall) async throws -> PaymentOutcome
    typealias Reverse = @Sendable (PaymentHandlerCall) throws -> Void
    typealias Track = @Sendable (PaymentHandlerCall) async -> Void
    typealias Update = @Sendable (PaymentHandlerCall) async throws -> SheetUpdate

    private let state = Mutex(State())
    private let onPay: Mutex<Pay>
    private let onUpdate: Mutex<Update>
    private let onReverse: Reverse
    private let onTrack: Track
    private let failsToReverse: Mutex<Int>

    init(
        failingReversals: Int = 0,
        pay: @escaping Pay = { .success(charged: $0.sheet.total.amount, reference: "ch_1") },
        update: @escaping Update = { _ in .unchanged }, reverse: @escaping Reverse = { _ in },
        track: @escaping Track = { _ in }
    ) {
        onTrack = track
        onReverse = reverse
        onPay = Mutex(pay)
        onUpdate = Mutex(update)
        failsToReverse = Mutex(failingReversals)
    }

    /// The attempts that were charged, in order.
    var paid: [String] { state.withLock(\.paid) }
    /// The attempts that were reversed, in order, with failed reversals.
    var reversed: [String] { state.withLock(\.reversed) }
    var updates: Int { state.withLock(\.updates) }
    var tracked: Int { state.withLock(\.tracked) }

    func answer(_ callbacks: Set<PaymentCallback.Kind>) { state.withLock { $0.callbacks = callbacks } }

    func callbacks(of business: BusinessID) -> Set<PaymentCallback.Kind>? { state.withLock(\.callbacks) }

    func pay(_ call: PaymentHandlerCall, departure: OnceFlag) async throws -> PaymentOutcome {
        guard departure.claim() else { throw HandlerPayments.Failure.unavailable }
        state.withLock { $0.paid.append(call.attempt?.id ?? "") }
        return try await onPay.withLock { $0 }(call)
    }

    func reverse(_ call: PaymentHandlerCall) async throws {
        state.withLock { $0.reversed.append(call.attempt?.id ?? "") }
        let fails = failsToReverse.withLock { count in
            count -= 1
            return count >= 0
        }
        if fails { throw Refusal() }
        try onReverse(call)
    }

    func update(_ call: PaymentHandlerCall) async throws -> SheetUpdate {
        state.withLock { $0.updates += 1 }
        return try await onUpdate.withLock { $0 }(call)
    }

    func track(_ call: PaymentHandlerCall) async throws {
        state.withLock { $0.tracked += 1 }
        await onTrack(call)
    }
}
