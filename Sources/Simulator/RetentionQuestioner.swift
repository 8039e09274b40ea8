import BalloonJSON
import BalloonPOSIX
package import BalloonTransport
import BalloonWire
package import RetentionMessages

/// A simulated App Store that sends signed questions to an address, within Apple's time limit.
package struct RetentionQuestioner: Sendable {
    /// The time after which the App Store shows the default message.
    package static let limit = Duration.milliseconds(700)

    private let store: SimulatedAppStore
    private let appleID: Int
    private let environment: RetentionEnvironment
    private let transport: any HTTPTransport
    /// The address that is asked while the app has no real-time URL.
    private let url: String

    /// Creates a questioner for one app; `url` is asked until the app sets a real-time URL.
    package init(
        _ store: SimulatedAppStore, appleID: Int, _ environment: RetentionEnvironment, url: String,
        transport: any HTTPTransport
    ) {
        self.store = store
        self.appleID = appleID
        self.environment = environment
        self.url = url
        self.transport = transport
    }

    /// The address that is asked: the real-time URL, or `url` without one.
    func address(_ realtimeURL: RealtimeURL?) -> String { realtimeURL?.text ?? url }

    /// Asks a new question, and returns the response with the time that it took.
    func ask(
        _ key: DefaultMessages.Key, subscription: String, at url: String, within limit: Duration
    ) async -> (exchange: Result<TransportResponse, TransportError>, time: Duration) {
        guard let identifier = RetentionID(hash: randomBytes(16)) else {
            return (.failure(.cancelled), .zero)
        }
        let request = RetentionRequest(
            originalTransactionID: subscription, appAppleID: appleID, productID: key.product,
            locale: key.locale, requestIdentifier: identifier, environment: environment,
            signedMilliseconds: Int(Timestamp.now().milliseconds))
        // Signing fails only when memory is exhausted.
        guard let body = try? store.body(asking: request) else { return (.failure(.cancelled), .zero) }
        let start = ContinuousClock.now
        do {
            let response = try await transport.send(
                TransportRequest(
                    method: "POST", url: url, headers: [("content-type", "application/json")], body: body,
                    timeout: limit, allowsPlainHTTP: true,
                    // A question changes nothing, and the App Store keeps its connections.
                    mustHappenOnce: false))
            return (.success(response), .now - start)
        } catch {
            return (.failure((error as? TransportError) ?? .cancelled), .now - start)
        }
    }
}
