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
        guard let line = try message(id, of: book.id, book.business)?.line, line.direction == .outbound else {
            throw InspectorProblem(.notFound, "the business sent no message with this id", pointer: "/to")
        }
        var answer: DeviceAnswer
        do {
            let message = try JSONDocument(Array(line.message.text))
            let offer = try DeviceOffer(message)
            let choice = try Self.choice(object["choice"], for: offer)
            answer = try DeviceAnswer(to: offer, choosing: choice)
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
        guard ["items", "fills"].allSatisfy({ object[$0]?.count ?? 0 <= maximumItems }) else {
            throw InspectorProblem("there are more than \(maximumItems) choices", at: object)
        }
        do throws(Scenario.Mistake) { return try Scenario.choice(object) } catch {
            throw InspectorProblem(error.reason, at: error.value)
        }
    }

    /// The item of a sign-in or a payment that an outcome names.
    private static func item(_ outcome: JSONValue, of offer: DeviceOffer) throws -> String {
        guard let end = outcome.string.flatMap(Scenario.Answer.Outcome.init) else {
            throw InspectorProblem(
                .badRequest, "the outcome is unknown", pointer: outcome.pointer,
                offered: Scenario.Answer.Outcome.allCases.map(\.rawValue))
        }
        if end == .cancel, offer.kind == .applePay {
            throw InspectorProblem(
                .unprocessableContent, "a device sends nothing when a payment is cancelled")
        }
        return end.item(of: offer)
    }
}
