package import HandlerKit
import HandlerProtocol
import Synchronization

extension ChildHandler {
    /// Sends a callback of a payment to the process and returns its answer.
    ///
    /// A call that charges stays open after the device's time, and the process is not told to cancel it: its
    /// late answer says what was charged.
    package func payment(_ context: PaymentContext) async throws -> PaymentAnswer {
        let time = context.callEnds.map { max(.milliseconds(1), $0 - .now) }
        let result = try await callPayment(chargingFor: time) { PaymentCall.write(context, to: &$0) }
        do throws(PaymentAnswerProblem) {
            return try PaymentCall.answer(result, to: context.callback.kind)
        } catch {
            throw BridgeError.paymentRefused(error)
        }
    }

    /// Asks the process to reverse a payment attempt; throws when the process does not confirm the reversal.
    package func reversal(_ reversal: PaymentReversal) async throws {
        _ = try await callPayment { PaymentCall.write(reversal, to: &$0) }
    }

    private func callPayment(
        chargingFor time: Duration? = nil, _ write: @Sendable (inout JSONWriter) -> Void
    ) async throws -> JSONValue {
        guard let session else { throw BridgeError.notRunning }
        let number = Atomic(0)
        let answer = await session.call(within: time, charges: time != nil) { id in
            number.store(id, ordering: .relaxed)
            return RPCLine.request(id: id, method: Method.payment, write)
        }
        switch answer {
        case .success(let result): return result
        case .failure(.cancelled) where time != nil: throw BridgeError.cancelled
        // Keep the program's message nowhere, not even in memory: it may quote a customer.
        case .failure(let error):
            await session.check(after: error) { $0.field("callId", number.load(ordering: .relaxed)) }
            throw error
        }
    }
}
