import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import Simulator

/// A simulated customer at the payment sheet of the newest request of a business.
struct SimulatedPayment {
    /// The customer's choices at the sheet.
    var choice = DevicePayment.Choice()

    /// Pays through the server's endpoints, and returns the device's event with the outcome; nil when the business did
    /// not ask this customer.
    func event(
        of customer: SimulatedCustomer
    ) async throws -> (event: [UInt8], outcome: DevicePayment.Outcome)? {
        let request = try await customer.replies().last { reply in
            reply.business == customer.business
                && reply.message.root["interactiveData"]?["data"]?["payment"]?["merchantSession"] != nil
        }
        guard let message = request?.message else { return nil }
        let now = SystemClock.secondsSince1970()
        let device = try DevicePayment(to: message, issuer: PaymentTokenIssuer(at: now), at: now)
        let outcome = try await device.run(choice, over: CurlTransport())
        let event = DeviceAnswer(to: try DeviceOffer(message), reporting: outcome.state)
        return (try customer.message(event), outcome)
    }
}
