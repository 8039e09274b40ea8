import BalloonHTTP
import BusinessMessages
import MessageStore

/// `POST …/conversations/{c}/typing` with `{"typing": true}` shows the customer that a person is typing; see ``TypingIndicators``.
extension APIOperations {
    var typing: [APIRoute] {
        [
            APIRoute(
                .post, Self.conversation + "/typing", may: .send,
                body: .json(maximumBytes: 4 << 10, .typing), "Show the customer that somebody types", .typing,
                answer: change)
        ]
    }

    private func change(_ request: APIRequest) throws -> APIAnswer {
        let isTyping = try request.object(["typing"]).needed("typing", "must be true or false", \.bool)
        let (_, business, customer) = try latest(request)
        let name = ConversationID(business: business, customer: customer)
        guard isTyping else {
            indicators.end(in: name)
            return APIAnswer { $0.field("typing", false) }
        }
        guard try !store.isClosedByCustomer(name.business, customer) else { throw APIProblem(.closed) }
        watch.recordSign(in: name, by: request.token.person)
        switch indicators.begin(in: name) {
        case .begun: return APIAnswer { $0.field("typing", true) }
        case .tooSoon:
            throw APIProblem(
                .tooManyRequests, "a conversation's indicator is sent once in 3 seconds", retryAfter: 3)
        case .tooMany:
            throw APIProblem(.unavailable, "too many conversations show that somebody types", retryAfter: 3)
        }
    }
}
