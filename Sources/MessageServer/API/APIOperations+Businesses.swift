import BalloonHTTP
import HandlerKit
import MessageStore

/// The operations on the businesses of a token and on their handlers.
///
/// - `GET /v1/businesses` lists each business with the status of its handler. `pending` is the number of its
///   unfinished messages. `counts` has the numbers of conversations that wait for a person or have one, and
///   of dead letters. A token with a person also gets the `person`, and whether it `supervises`.
/// - `POST /v1/businesses/{slug}/handler/restart` restarts a handler outside the server.
/// - `GET /v1/businesses/{slug}/handler/log` answers with the latest log lines of the handler.
extension APIOperations {
    var businesses: [APIRoute] {
        [
            APIRoute(
                .get, "/v1/businesses", may: .read, "List the businesses of the token",
                Self.businesses.form(named: "Businesses").schema
            ) {
                request in
                var entries: [Entry] = []
                for business in request.access.businesses(of: request.token) {
                    // A business that a reload has just added has no handler yet.
                    var status: HandlerStatus?
                    if let handler = registry[business.id] { status = await HandlerStatus(handler) }
                    entries.append((business, status, store))
                }
                return APIAnswer(json: Self.businesses.json((request.token, entries)))
            },
            APIRoute(
                .post, Self.business + "/handler/restart", may: .operate, "Restart the handler",
                .restarted
            ) { request in
                try await registry.operated(request.business.slug).restart()
                return APIAnswer { $0.field("restarted", true) }
            },
            APIRoute(
                .get, Self.business + "/handler/log", may: .operate,
                "Read the handler's latest log lines", Self.logLines.form(named: "LogLines").schema
            ) {
                let handler = try registry.operated($0.business.slug)
                return APIAnswer(json: Self.logLines.json(await handler.report.log))
            },
        ]
    }

    private typealias Entry = (business: APIBusiness, status: HandlerStatus?, store: Store)

    private static let logLines = JSONObjectForm.listed("lines", .text)
    private static let businesses = JSONObjectForm<(token: APIToken, entries: [Entry])>(written: [
        JSONField("businesses", .list(entry.form)) { $0.entries },
        JSONField("person", optional: .person) { $0.token.person },
        // Only a token with a person needs the right; see `APIToken.supervises`.
        JSONField("supervises", optional: .flag) { $0.token.person == nil ? nil : $0.token.supervises },
    ])
    private static let entry = JSONObjectForm<Entry>(written: [
        JSONField("slug", .text) { $0.business.slug },
        JSONField("businessID", .business) { $0.business.id }, JSONField("name", .text) { $0.business.name },
        JSONField(
            "handler",
            [
                JSONField("health", .text) { $0.status?.health ?? "starting" },
                JSONField("restarts", .integer) { $0.status?.restarts ?? 0 },
                JSONField("inFlight", .integer) { $0.status?.inFlight ?? 0 },
                JSONField("pending", .integer) { $0.store.pendingCount(of: $0.business.id) },
                JSONField("stuck", .integer) { $0.status?.stuck ?? 0 },
                JSONField("downSeconds", optional: .integer) { $0.status?.downSeconds },
            ], named: "HandlerStatus"),
        JSONField(
            "counts",
            [
                JSONField("waiting", .integer) { $0.store.assignedCounts(of: $0.business.id).waiting },
                JSONField("person", .integer) { $0.store.assignedCounts(of: $0.business.id).person },
                JSONField("deadLetters", .integer) { $0.store.deadLetterCount(of: $0.business.id) },
            ]),
    ])
}
