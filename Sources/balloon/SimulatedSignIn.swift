import BalloonTransport
import BusinessMessages
import Simulator

/// A simulated customer who signs in at the provider of `balloon dev`, as the newest request of a business asks.
struct SimulatedSignIn {
    /// The user name at the provider, which accepts every name.
    var user = "alice"
    /// Whether the customer declines at the provider.
    var declines = false
    /// Whether only a request of version 1 is answered.
    var isClassic = false

    /// Signs in over the provider's pages and the server's callback, and returns the device's event; nil when the
    /// business did not ask this customer.
    func event(of customer: SimulatedCustomer, at provider: String) async throws -> [UInt8]? {
        let request = try await customer.replies().last { reply in
            guard reply.business == customer.business, let oauth2 = Self.oauth2(of: reply.message) else {
                return false
            }
            return !isClassic || oauth2["redirectURI"] == nil
        }
        guard let message = request?.message else { return nil }
        return try customer.message(
            try await answer(to: message, of: customer.id, at: provider, over: try CurlTransport()))
    }

    /// Signs in over the pages of the provider and the server's callback, as a message asks, and returns the device's event.
    func answer(
        to message: JSONDocument, of customer: CustomerID, at provider: String,
        over transport: any HTTPTransport
    ) async throws -> DeviceAnswer {
        let isOld = Self.oauth2(of: message)?["redirectURI"] == nil
        let registration = DeviceSignIn.Registration(
            authorizationURL: provider + ProviderEndpoint.authorize.rawValue,
            tokenURL: provider + ProviderEndpoint.token.rawValue,
            clientID: isOld ? DevelopmentProvider.classicClientID : DevelopmentProvider.clientID)
        var account = DeviceSignIn.Account(user: user)
        account.declines = declines
        let device = try DeviceSignIn(to: message, at: registration, as: account, customer: customer)
        return DeviceAnswer(to: try DeviceOffer(message), reporting: try await device.run(over: transport))
    }

    /// Whether the server processes the sign-in of a message in the thread: it adds parts when it sends the message.
    static func isProcessed(_ message: JSONDocument) -> Bool {
        oauth2(of: message)?["state"]?.string == SignInRequest.placeholder
    }

    private static func oauth2(of message: JSONDocument) -> JSONValue? {
        message.root["interactiveData"]?["data"]?["authenticate"]?["oauth2"]
    }
}
