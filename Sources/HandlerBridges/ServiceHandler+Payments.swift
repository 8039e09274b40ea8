import BalloonTransport
import HandlerKit
import HandlerProtocol

extension ServiceHandler {
    /// Posts a callback of a payment once and returns the answer.
    ///
    /// A call that charges stays open after the device's time: its late answer says what was charged. It has
    /// connections of its own, so that late calls leave the others to updates and reversals.
    func payment(_ context: PaymentContext) async throws -> PaymentAnswer {
        let body = JSONWriter.object(reservingCapacity: 1024) { PaymentCall.write(context, to: &$0) }
        let id = context.attempt.isEmpty ? MessageID.random().rawValue : context.attempt
        let request = request(body, id: id, until: context.callEnds ?? context.deadline)
        let response =
            context.callEnds == nil
            ? try await post(request, over: paymentTransport)
            : try await charges.withTransport { try await self.post(request, over: $0) }
        guard context.callback.kind != .orderTracking else { return .received }
        guard let result = try read(response) else { throw BridgeError.notJSON }
        do throws(PaymentAnswerProblem) {
            return try PaymentCall.answer(result, to: context.callback.kind)
        } catch {
            throw BridgeError.paymentRefused(error)
        }
    }

    /// Posts a reversal; a 2xx status confirms it, unless its body is a page or damaged.
    func reversal(_ reversal: PaymentReversal) async throws {
        let body = JSONWriter.object { PaymentCall.write(reversal, to: &$0) }
        _ = try read(
            try await post(
                request(body, id: "reversal-" + reversal.attempt, until: reversal.deadline),
                over: paymentTransport))
    }

    /// Reads a 2xx answer; whether the service did something is not known when it cannot be read.
    private func read(_ response: TransportResponse) throws(BridgeError) -> JSONValue? {
        do throws(AnswerRefusal) { return try ServiceAnswer.read(response) } catch { throw .notJSON }
    }

    func post(
        _ request: TransportRequest, over transport: any HTTPTransport
    ) async throws -> TransportResponse {
        let response: TransportResponse
        do {
            response = try await transport.send(request)
        } catch {
            throw Self.failure(error as? TransportError)
        }
        guard (200..<300).contains(response.status) else { throw BridgeError.status(response.status) }
        return response
    }
}
