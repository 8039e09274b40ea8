import BalloonHTTP
import BalloonPOSIX
import BusinessMessages
import MessageServer
import MessageStore
import Simulator

extension Phone {
    private static let maximumItems = 100

    /// Answers a message of the business as a device does, and returns the webhook's answers.
    func answer(_ request: InspectorRequest) async throws -> [UInt8] {
        let (book, customer) = try customer(request.path("id"))
        let object = try request.object()
        let levers = try PhoneLevers(object["levers"])
        guard let id = object["to"]?.string else {
            throw InspectorProblem(.badRequest, "to names the message", pointer: "/to")
        }
        guard let line = try line(id, of: customer), line.direction == .outbound else {
            throw InspectorProblem(.notFound, "the business sent no message with this id", pointer: "/to")
        }
        let today = CalendarDate(atSeconds: SystemClock.secondsSince1970())
        var answer: DeviceAnswer
        do {
            let message = try JSONDocument(Array(line.message.text))
            let offer = try DeviceOffer(message)
            let choice = try Self.choice(object["choice"], for: offer)
            answer = try DeviceAnswer(to: offer, choosing: choice, today: today)
            if SimulatedSignIn.isProcessed(message) {
                answer = try await signIn(book, answering: line.id, choosing: choice) ?? answer
            }
        } catch let error as DeviceAnswerError {
            throw InspectorProblem(
                .unprocessableContent, error.reason, pointer: "/choice", offered: error.offered)
        }
        return try await post([try customer.message(answer)], by: customer, levers)
    }

    /// Reads `{"items":[…],"fills":[{"page","value"}],"outcome":…}`.
    private static func choice(_ object: JSONValue?, for offer: DeviceOffer) throws -> DeviceChoice {
        guard let object, object.kind == .object else {
            throw InspectorProblem(.badRequest, "choice must be an object", pointer: "/choice")
        }
        if let outcome = object["outcome"] { return DeviceChoice(items: [try item(outcome, of: offer)]) }
        let items = object["items"].map { Array($0.elements) } ?? []
        let fills = object["fills"].map { Array($0.elements) } ?? []
        guard items.count <= maximumItems, fills.count <= maximumItems else {
            throw InspectorProblem("there are more than \(maximumItems) choices", at: object)
        }
        return DeviceChoice(
            items: try items.map { item in
                if let text = item.string { return text }
                guard let number = item.int else { throw InspectorProblem("an item is a text", at: item) }
                return "\(number)"
            },
            fills: try fills.map { fill in
                guard let page = fill["page"]?.string, let value = fill["value"]?.string else {
                    throw InspectorProblem("a fill has the texts page and value", at: fill)
                }
                return DeviceChoice.Fill(page: page, value: value)
            })
    }

    /// The item of a sign-in or a payment that an outcome names.
    private static func item(_ outcome: JSONValue, of offer: DeviceOffer) throws -> String {
        let offered = offer.items.map(\.title)
        switch (outcome.string, offer.kind) {
        case ("cancel", .applePay):
            throw InspectorProblem(
                .unprocessableContent, "a device sends nothing when a payment is cancelled")
        case ("success", _): return offered.first ?? "success"
        case ("failure", _): return offered.dropFirst().first ?? "failure"
        case ("cancel", _): return offered.dropFirst().last ?? "cancel"
        default:
            throw InspectorProblem(
                .badRequest, "the outcome is unknown", pointer: outcome.pointer,
                offered: ["success", "failure", "cancel"])
        }
    }
}
