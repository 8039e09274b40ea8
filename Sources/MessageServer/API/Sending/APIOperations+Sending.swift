import BalloonHTTP
import BusinessMessages
import MessageStore

/// The operations that send messages and invitations.
///
/// - `POST …/conversations/{c}/messages`: a message to a customer who has written.
/// - `POST …/messages`: an invitation to a telephone number.
///
/// Both need an ``IdempotencyKey``, and process the message like `balloon send`. The server journals the
/// message, queues it in the order of its conversation and sends it. The request may wait for the outcome.
extension APIOperations {
    /// The maximum number of requests of one token that wait for outcomes.
    static let maximumWaiting = 1024
    private static let query = [
        APIParameter("dryRun", .flag, "With true the message is checked and not sent.")
    ]
    private static let headers = [
        APIParameter(
            "Idempotency-Key", .key,
            "The same key means the same message, for this token, business and customer.", isRequired: true),
        APIParameter("Prefer", .field, "wait=N waits up to N seconds, at most 50, for the outcome."),
    ]

    var sending: [APIRoute] {
        [
            route("/conversations/{c}/messages", .newMessage, "Send a message") { request, responder in
                let message = try SendingBody(request, namesCustomer: false)
                return try await send(message, to: customer(request), request, responder)
            },
            route("/messages", .newInvitation, "Invite a customer") { request, responder in
                let message = try SendingBody(request, namesCustomer: true)
                return try await send(message, to: message.invited, request, responder)
            },
        ]
    }

    private func route(
        _ path: String, _ body: JSONSchema, _ summary: String,
        send: @escaping @Sendable (APIRequest, APIResponder) async throws -> APIAnswer
    ) -> APIRoute {
        APIRoute(
            method: .post, path: Self.business + path, right: .send, query: Self.query, headers: Self.headers,
            body: .json(maximumBytes: 8 << 20, body), summary: summary, answer: .json(.sent, creates: true),
            handler: .blocking(send))
    }

    /// The customer of the conversation in the path.
    private func customer(_ request: APIRequest) throws -> CustomerID {
        let page = try files.page(
            of: request.business.id, named: request.path("c"), .latest, maximum: 1, maximumBytes: 1 << 20)
        guard let line = page?.lines.last.flatMap({ ConversationLine($0) }) else {
            throw APIProblem(.notFound)
        }
        return line.customer
    }

    private func send(
        _ message: SendingBody, to customer: CustomerID, _ request: APIRequest, _ responder: APIResponder
    ) async throws -> APIAnswer {
        let business = try request.business
        // Several keys are joined with a space, which no key has.
        let key = try request.idempotencyKey(business.id, customer)
        // Wait instead of refusing, because several requests with the same key may arrive at once: the first
        // search finds the message for all of them. The number of waiting requests is bounded, because a
        // token's requests in flight are.
        let search: JournalSearch = { [journalReaders] search in
            let permit = await journalReaders.wait(request.token.name)
            defer { permit.release() }
            do { return try await search() } catch is UnreadJournal { throw APIProblem.journalUnread }
        }
        let wait = Preference.waitSeconds(request.field("prefer"))
        let permit = try wait > 0 ? outcomeWaiters.permit(for: request.token, to: "wait for outcomes") : nil
        defer { permit?.release() }
        do {
            // A repetition is answered before its attachments are looked up, because they may have expired.
            if request["dryRun"] != "true",
                let answer = try await sender.repeated(
                    key, business.id, within: .seconds(wait), searching: search,
                    willWait: responder.releasePermit)
            {
                return created(answer, business, customer)
            }
            let new = try message.request(from: business.id, to: customer, wait: .seconds(wait), uploads)
            if request["dryRun"] == "true" {
                let warnings = try await sender.check(new, key, searching: search)
                return APIAnswer { writer in
                    writer.field("outcome", "checked")
                    writer.raw("problems", message.list(warnings))
                }
            }
            let holder = sender.store.assignment(of: business.id, customer).person
            let answer = try await sender.send(
                new, key, searching: search, willWait: responder.releasePermit)
            for id in message.attachmentIDs { uploads.markUsed(id, of: business.id) }
            var sent = created(answer, business, customer)
            // The message has claimed the conversation.
            if let person = new.person, person.id != holder?.id {
                sent.audit = sender.store.audit(person, of: business.id, customer)
            }
            return sent
        } catch let refusal as SendRefusal {
            throw message.problem(refusal)
        }
    }

    private func created(
        _ answer: SendAnswer, _ business: APIBusiness, _ customer: CustomerID
    ) -> APIAnswer {
        let conversation = ConversationFiles.name(of: customer)
        return APIAnswer(
            .created, json: answer.json,
            fields: [
                (
                    "Location",
                    "/v1/businesses/\(business.slug)/conversations/\(conversation)/messages/\(answer.id.rawValue)"
                )
            ])
    }
}
