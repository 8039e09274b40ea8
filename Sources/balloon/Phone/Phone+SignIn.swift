import BalloonHTTP
import BalloonTransport
import BusinessMessages
import MessageServer
import SignIn
import Simulator

extension Phone {
    /// Signs in at the provider of `balloon dev`, as a request of this server asks, and returns the device's event; nil when
    /// the customer cancels before the page opens.
    ///
    /// The device opens the provider's pages and follows them to the server's callback, which verifies the sign-in and
    /// redirects to `messages-auth://`. Throws a problem for a business with a provider of its own.
    func signIn(
        _ customer: PhoneCustomer, answering id: MessageID, choosing choice: DeviceChoice
    ) async throws -> DeviceAnswer? {
        let (known, businesses) = try running
        let business = businesses.first { $0.businessID == customer.business }
        guard let issuer = business?.authentication?.provider.issuer, issuer == known.provider else {
            throw InspectorProblem(
                .unprocessableContent,
                "the business has a provider of its own; the phone signs in at that of balloon dev only")
        }
        let request = try sent(id, to: customer.id)
        let ends = try DeviceOffer(request).items.map(\.title)
        let end = ends.indices.first { choice.items.first == ends[$0] || choice.items.first == "\($0 + 1)" }
        guard let end, end < 2 else { return nil }
        let device = SimulatedSignIn(user: Self.user(customer), declines: end == 1)
        do {
            return try await device.answer(to: request, of: customer.id, at: known.provider, over: transport)
        } catch is TransportError {
            throw InspectorProblem(.badGateway, "the provider or the server did not answer the device")
        } catch let error as SimulatorError {
            throw InspectorProblem(.unprocessableContent, error.description)
        }
    }

    /// A request as it was sent, with the parts that the thread's message lacks; throws a problem when it is too old.
    func sent(_ id: MessageID, to customer: CustomerID) throws(InspectorProblem) -> JSONDocument {
        guard let request = gateway.messages(for: customer).last(where: { $0.id == id })?.message else {
            throw InspectorProblem(
                .conflict, "the simulated gateway has forgotten this request; ask the business for another")
        }
        return request
    }

    /// The user name at the provider: the letters and digits of the customer's name, in lower case.
    static func user(_ customer: PhoneCustomer) -> String {
        let name = customer.name.lowercased().filter { $0.isLetter || $0.isNumber }
        return name.isEmpty ? "customer" : name
    }
}
