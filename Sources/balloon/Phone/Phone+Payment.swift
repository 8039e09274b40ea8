import BalloonHTTP
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import MessageServer
import Simulator
import Synchronization

extension Phone {
    /// The name of a payment sheet that is open on the phone.
    struct SheetName: Hashable {
        let customer: CustomerID
        let message: MessageID
    }

    private static let maximumSheets = 100

    /// Operates the payment sheet of a request that the server completed, through the endpoints of the server.
    ///
    /// `{"to":"…"}` opens the sheet; with `select` the customer selects `{"card":true}`, `{"country":"DE"}` or
    /// `{"shippingMethod":"post"}`; `"pay":"success"` or `"failure"` authorises the payment, the latter with a card that the bank
    /// declines, and posts Apple's event. Returns the sheet, or the webhook's answers after a payment.
    func pay(_ request: InspectorRequest) async throws -> [UInt8] {
        let (book, customer) = try customer(request.path("id"))
        let object = try request.object()
        let levers = try PhoneLevers(object["levers"])
        guard let id = object["to"]?.string else {
            throw InspectorProblem(.badRequest, "to names the message", pointer: "/to")
        }
        let message = try sent(MessageID(id), to: book.id)
        let name = SheetName(customer: book.id, message: MessageID(id))
        let now = SystemClock.secondsSince1970()
        do {
            let device = try DevicePayment(to: message, issuer: PaymentTokenIssuer(at: now), at: now)
            if let end = object["pay"] {
                var choice = DevicePayment.Choice()
                choice.declines = try end.word("the end is unknown") == End.failure
                let sheet = try sheets.withLock { $0[name] } ?? device.sheet()
                let outcome = try await device.finish(choice, sheet, over: transport)
                sheets.withLock { $0[name] = nil }
                let event = DeviceAnswer(to: try DeviceOffer(message), reporting: outcome.state)
                return try await post([try customer.message(event)], by: customer, levers)
            }
            var sheet = try device.sheet()
            if let selected = object["select"] {
                sheet = sheets.withLock { $0[name] } ?? sheet
                sheet.clearErrors()
                _ = try await device.select(try Self.selection(selected), on: &sheet, over: transport)
            }
            sheets.withLock { sheets in
                // Forget the others when there are too many, because a page reopens its own.
                if sheets[name] == nil, sheets.count >= Self.maximumSheets { sheets = [:] }
                sheets[name] = sheet
            }
            return JSONWriter.object { writer in
                writer.key("sheet")
                sheet.write(to: &writer)
            }
        } catch is TransportError {
            throw InspectorProblem(.badGateway, "the server did not answer the device")
        } catch let error as DeviceAnswerError {
            throw InspectorProblem(.unprocessableContent, error.reason)
        } catch let problem as PaymentAnswerProblem {
            throw InspectorProblem(
                .unprocessableContent, "a device refuses the request: \(problem.field) breaks a rule")
        }
    }

    private enum End: String, CaseIterable { case success, failure }

    private static func selection(_ object: JSONValue) throws(InspectorProblem) -> DevicePayment.Selection {
        if object["card"]?.bool == true { return .card }
        if let country = object["country"]?.string, country.utf8.count == 2 { return .country(country) }
        if let method = object["shippingMethod"]?.string { return .shippingMethod(method) }
        throw InspectorProblem(
            .badRequest, "select has card, a country of two letters, or shippingMethod",
            pointer: object.pointer)
    }
}
