import BalloonHTTP
import BusinessMessages
import GatewayClient
import MessageStore

/// The operations of the business API, and what they read and change.
struct APIOperations: Sendable {
    let store: Store
    let files: ConversationFiles
    let attachments: AttachmentFiles
    let registry: HandlerRegistry
    let watch: AssignmentWatch
    let sender: ReplySender
    let uploads: UploadedFiles
    let replies: SavedReplies
    let indicators: TypingIndicators
    let paymentResults: PaymentResults
    let events: EventHub
    let dataDirectory: String
    /// The maximum size of an uploaded attachment.
    let maximumUploadBytes: @Sendable () -> Int
    /// Counts the requests of each token that read the journal.
    let journalReaders = InFlightOperations(maximum: InFlightOperations.maximumJournalReaders)
    /// Counts the requests of each token that wait for outcomes.
    let outcomeWaiters = InFlightOperations(maximum: maximumWaiting)

    static let business = "/v1/businesses/{slug}"
    static let conversation = business + "/conversations/{c}"

    /// Every operation, in the order of the API's document.
    var all: [APIRoute] {
        let conversations = businesses + messages + conversationList + sending + [upload] + assignments
        let people = customers + reports + savedReplies + typing + presence + availability + queues
        return APIDocument.completing(
            conversations + people + payments + deliveries + EventRoutes.make(events))
    }

    /// The conversation that the request's path names; throws `not-found` when it has no line.
    func latest(
        _ request: APIRequest
    ) throws -> (facts: ConversationFacts, business: BusinessID, customer: CustomerID) {
        let business = try request.business.id
        let facts = try ConversationFacts.read(
            request.path("c"), of: business, files, lines: (50, 1 << 20)
        ) { store.assignment(of: business, $0) }
        // The `ETag` must include `isClosedByCustomer`, because the store compares `If-Match` with a tag that
        // includes it.
        guard let facts = try facts?.completed(by: store, business, asksAlways: true),
            let customer = facts.customer
        else { throw APIProblem(.notFound) }
        return (facts, business, customer)
    }
}
