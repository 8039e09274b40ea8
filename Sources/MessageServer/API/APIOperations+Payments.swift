import BalloonHTTP
import BusinessMessages

/// `POST …/payments/withdraw` with `{"requestIdentifier": "…"}` ends a payment request before it is paid.
///
/// It is for a service that accepts the payment on the fallback page instead. The identifier is a secret
/// while the request is open. It is in the body, because paths are logged.
extension APIOperations {
    var payments: [APIRoute] {
        [
            APIRoute(
                .post, Self.business + "/payments/withdraw", may: .send,
                body: .json(maximumBytes: 4 << 10, .withdrawal), "End a payment request before it is paid",
                .withdrawn, answer: withdraw)
        ]
    }

    private func withdraw(_ request: APIRequest) async throws -> APIAnswer {
        let identifier = try request.object(["requestIdentifier"])
            .needed("requestIdentifier", "must be a text", \.string)
        let isWithdrawn = try await paymentResults.withdraw(identifier, of: request.business.id)
        return APIAnswer { $0.field("withdrawn", isWithdrawn) }
    }
}
