import BalloonJSON
import BalloonPOSIX
import BalloonWire
import BusinessMessages
import HandlerKit
import Logging
import Payments
import Synchronization

/// Calls handlers about payments; payments have their own slots, so that events do not delay a payment.
final class HandlerPayments: PaymentHandling {
    /// The reason why a call of a handler has no answer.
    enum Failure: Error {
        /// The business is not served, or its handler is down.
        case unavailable
        /// The handler does not answer this callback.
        case noAnswer
        /// The handler had not returned when the time for its slot was over.
        case overran
    }

    /// The maximum number of calls of a business at a time.
    private static let maximumCalls = 256
    /// The maximum time for which a call holds its slot: the 25 s that the caller waits, and 60 s for a late
    /// outcome.
    private static let slotTime = PaymentFlow.timeLimit + PaymentFlow.lateLimit

    private struct Slots {
        let slots = HandlerSlots(maximumCount: HandlerPayments.maximumCalls)
        let threads = SharedThreads()
    }

    private let registry: HandlerRegistry
    private let slots = Mutex<[BusinessID: Slots]>([:])

    init(_ registry: HandlerRegistry) { self.registry = registry }

    func callbacks(of business: BusinessID) -> Set<PaymentCallback.Kind>? {
        guard let handler = registry[business]?.life?.handler else { return [] }
        return payments(of: handler)
    }

    func pay(_ call: PaymentHandlerCall) async throws -> PaymentOutcome {
        guard case .outcome(let outcome) = try await answer(call) else { throw Failure.noAnswer }
        return outcome
    }

    func update(_ call: PaymentHandlerCall) async throws -> SheetUpdate {
        guard case .update(let update) = try await answer(call) else { throw Failure.noAnswer }
        return update
    }

    func track(_ call: PaymentHandlerCall) async throws { _ = try await answer(call) }

    func reverse(_ call: PaymentHandlerCall) async throws {
        guard let attempt = call.attempt else { throw Failure.noAnswer }
        let isReversed = try await run(call) { handler, _ in
            try await dispatch(
                PaymentReversal(
                    business: call.business, customer: call.customer, message: call.message,
                    attempt: attempt.id, amount: attempt.amount, currencyCode: call.sheet.currencyCode,
                    reference: attempt.reference, deadline: .now + PaymentFlow.timeLimit), to: handler)
        }
        guard isReversed else { throw Failure.noAnswer }
    }

    private func answer(_ call: PaymentHandlerCall) async throws -> PaymentAnswer {
        guard let callback = call.callback else { throw Failure.noAnswer }
        let answer = try await run(call) { handler, logger in
            try await dispatch(
                PaymentContext(
                    business: call.business, customer: call.customer, message: call.message,
                    request: call.request, sheet: call.sheet, callback: callback,
                    attempt: call.attempt?.id ?? "",
                    // The token's JSON is valid, because it was parsed when the token was opened.
                    decryptedToken: call.decryptedToken.flatMap { try? JSONDocument($0.bytes).root },
                    deadline: .now + PaymentFlow.timeLimit, logger: logger),
                to: handler)
        }
        guard let answer else { throw Failure.noAnswer }
        return answer
    }

    private func run<Value: Sendable>(
        _ call: PaymentHandlerCall,
        _ body: @escaping @Sendable (any Handler, Logger) async throws -> Value
    ) async throws -> Value {
        guard let business = registry[call.business], let life = business.life,
            await life.waitUntilReady(within: PaymentFlow.timeLimit) == true
        else { throw Failure.unavailable }
        let (handler, logger) = (life.handler, business.logger)
        let own = slots.withLock { slots in
            let own = slots[call.business] ?? Slots()
            slots[call.business] = own
            return own
        }
        let result = try await own.slots.run(within: Self.slotTime, on: own.threads) {
            () async -> Result<Value, any Error> in
            do { return .success(try await body(handler, logger)) } catch { return .failure(error) }
        }
        guard let result else { throw Failure.overran }
        return try result.get()
    }
}
