import BalloonJSON
import BalloonTransport
import HandlerKit
import HandlerProtocol

extension ServiceHandler {
    /// Posts a callback of a payment once and returns the answer.
    func payment(_ context: PaymentContext) async throws -> PaymentAnswer {
        let body = JSONWriter.object(reservingCapacity: 1024) { PaymentCall.write(context, to: &$0) }
        let id = context.attempt.isEmpty ? MessageID.random().rawValue : context.attempt
        let response = try await post(request(body, id: id, until: context.deadline))
        guard context.callback.kind != .orderTracking else { return .received }
        guard let result = try? JSONDocument(response.body).root else { throw BridgeError.notJSON }
        do throws(PaymentAnswerProblem) {
            return try PaymentCall.answer(result, to: context.callback.kind)
        } catch {
            throw BridgeError.paymentRefused(error)
        }
    }

    /// Posts a reversal; any 2xx status confirms it.
    func reversal(_ reversal: PaymentReversal) async throws {
        let body = JSONWriter.object { PaymentCall.write(reversal, to: &$0) }
        _ = try await post(
            request(body, id: "reversal-" + reversal.attempt, until: reversal.deadline))
    }

    private func post(_ request: TransportRequest) async throws -> TransportResponse {
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
