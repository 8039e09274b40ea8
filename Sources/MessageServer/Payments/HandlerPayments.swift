import BalloonPOSIX
import BalloonWire
import HandlerKit
import Logging
import Payments
import Synchronization

/// Calls handlers about payments; payments have their own slots, so that events do not delay a payment.
///
/// Calls that charge have slots apart from updates and reversals, and give them back when they are late. A
/// handler that never answers a charge therefore delays neither other charges nor their reversals.
final class HandlerPayments: PaymentHandling {
    /// The reason why a call of a handler has no answer.
    enum Failure: PaymentCallError {
        /// The business is not served, its handler is down, or all slots are in use.
        case unavailable
        /// The handler does not answer this callback.
        case noMethod
        /// The handler answered another callback.
        case noAnswer
        /// The handler had not returned when the time for its slot was over.
        case overran

        var callEnd: PaymentCallEnd {
            switch self {
            case .unavailable, .noMethod: .neverLeft
            case .noAnswer: .misanswered
            case .overran: .unseen
            }
        }
    }

    /// The maximum number of updates of a business, and of its reversals, at a time.
    ///
    /// Both together fit into the connections of a service's transport.
    private static let maximumCalls = 128

    private struct Slots {
        let charges: ChargeSlots
        let reversals = HandlerSlots(maximumCount: HandlerPayments.maximumCalls)
        let updates = HandlerSlots(maximumCount: HandlerPayments.maximumCalls)
        let threads = SharedThreads()

        init(_ timings: PaymentTimings) { charges = ChargeSlots(timings, on: threads) }
    }

    private let registry: HandlerRegistry
    private let timings: PaymentTimings
    private let slots = Mutex<[BusinessID: Slots]>([:])

    init(_ registry: HandlerRegistry, timings: PaymentTimings = PaymentTimings()) {
        self.registry = registry
        self.timings = timings
    }

    func callbacks(of business: BusinessID) -> Set<PaymentCallback.Kind>? {
        guard let handler = registry[business]?.life?.handler else { return [] }
        return payments(of: handler)
    }

    func pay(_ call: PaymentHandlerCall, departure: OnceFlag) async throws -> PaymentOutcome {
        let callEnds = ContinuousClock.now + timings.call
        let answer = try await withHandler(of: call.business) { business, handler, slots in
            try await slots.charges.run(departure) {
                try await self.answer(call, handler, business.logger, callEnds: callEnds)
            }
        }
        guard case .outcome(let outcome) = answer else { throw Failure.noAnswer }
        return outcome
    }

    func update(_ call: PaymentHandlerCall) async throws -> SheetUpdate {
        guard case .update(let update) = try await answer(call) else { throw Failure.noAnswer }
        return update
    }

    func track(_ call: PaymentHandlerCall) async throws { _ = try await answer(call) }

    func reverse(_ call: PaymentHandlerCall) async throws {
        guard let attempt = call.attempt else { throw Failure.noMethod }
        let isReversed = try await withHandler(of: call.business) { [timings] _, handler, slots in
            try await run(slots.reversals, slots.threads) {
                try await dispatch(
                    PaymentReversal(
                        business: call.business, customer: call.customer, message: call.message,
                        attempt: attempt.id, amount: attempt.amount, currencyCode: call.sheet.currencyCode,
                        reference: attempt.reference, deadline: .now + timings.answer), to: handler)
            }
        }
        guard isReversed else { throw Failure.noMethod }
    }

    private func answer(_ call: PaymentHandlerCall) async throws -> PaymentAnswer {
        try await withHandler(of: call.business) { business, handler, slots in
            try await run(slots.updates, slots.threads) {
                try await self.answer(call, handler, business.logger)
            }
        }
    }

    private func answer(
        _ call: PaymentHandlerCall, _ handler: any Handler, _ logger: Logger,
        callEnds: ContinuousClock.Instant? = nil
    ) async throws -> PaymentAnswer {
        guard let callback = call.callback else { throw Failure.noMethod }
        var context = PaymentContext(
            business: call.business, customer: call.customer, message: call.message,
            request: call.request, sheet: call.sheet, callback: callback,
            attempt: call.attempt?.id ?? "",
            // The token's JSON is valid, because it was parsed when the token was opened.
            decryptedToken: call.decryptedToken.flatMap { try? JSONDocument($0.bytes).root },
            deadline: .now + timings.answer, logger: logger)
        context.callEnds = callEnds
        guard let answer = try await dispatch(context, to: handler) else { throw Failure.noMethod }
        return answer
    }

    /// Runs `body` with the handler of a business, which is not ended meanwhile.
    private func withHandler<Value: Sendable>(
        of id: BusinessID, _ body: (BusinessHandler, any Handler, Slots) async throws -> Value
    ) async throws -> Value {
        let own = slots.withLock { slots in
            let own = slots[id] ?? Slots(timings)
            slots[id] = own
            return own
        }
        while let business = registry[id] {
            guard let life = business.life else { break }
            if let permit = business.enterPayment(within: timings.call) {
                defer { permit.leave() }
                if await life.waitUntilReady(within: timings.answer) == true {
                    return try await body(business, life.handler, own)
                }
            }
            // A handler that was replaced during the wait has a successor.
            if Task.isCancelled || registry[id] === business { break }
        }
        throw Failure.unavailable
    }

    private func run<Value: Sendable>(
        _ slots: HandlerSlots, _ threads: SharedThreads, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let result = try await slots.run(within: timings.answer, on: threads) {
            () async -> Result<Value, any Error> in
            do { return .success(try await body()) } catch { return .failure(error) }
        }
        guard let result else { throw Failure.overran }
        return try result.get()
    }
}
