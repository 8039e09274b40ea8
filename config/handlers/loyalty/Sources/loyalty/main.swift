import HandlerKit
import StdioHandler

/// Chooses the message that a subscriber sees before a cancellation: an offer for one product, else the rule file.
struct Loyalty: RetentionHandler, ConfigurableHandler {
    /// The member `"config"` of the handler in the app's file.
    struct Configuration: Decodable {
        /// The product whose subscribers get the offer.
        var product: String
        /// The name of the message with the offer.
        var message: String
    }

    let configuration: Configuration

    func retention(
        _ request: RetentionRequest, _ context: RetentionContext
    ) async throws -> RetentionChoice? {
        guard request.productID.text == configuration.product else { return nil }
        return .promotionalOffer(message: configuration.message, .init("half-price"))
    }
}

await StdioHandler.run(HandlerMaker<Loyalty>("loyalty"))
