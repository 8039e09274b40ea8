import BalloonJSON
import BusinessMessages

/// The result of the download behind a payload reference.
package enum Resolution: Hashable, Sendable {
    /// The whole message, a JSON object with the payload in place of the reference.
    case resolved(message: [UInt8])
    /// The reason why there is no payload: a short constant, never the customer's text.
    case failed(reason: String)
}

extension Resolution {
    /// The effect of the customer's message on the conversation.
    func act(of business: BusinessID, _ customer: CustomerID) -> ReceivedMessage.Act {
        guard case .resolved(let message) = self,
            let root = (try? JSONDocument(message, limits: .journal))?.root,
            ServerQuestion.isAnswered(by: root, business, customer)
        else { return .writes }
        return .neither
    }

    /// The start of the failure reason when the reference expired before the download.
    package static let expiredPrefix = "expired: "
}
