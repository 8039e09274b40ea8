import BalloonJSON
import BusinessMessages
import MessageStore

extension OutboundMessage {
    /// Returns the body of a message to send; reusable content gets the same `requestIdentifier` for all
    /// customers.
    ///
    /// ``GatewayClient`` sends equal content by reference, so that the content is uploaded to Apple only
    /// once.
    func encodeToSend(id: MessageID, from business: BusinessID, to customer: CustomerID) -> [UInt8] {
        let body = encode(id: id, from: business, to: customer)
        // The message was encoded here, so it is valid JSON.
        guard isReusable, let root = (try? JSONDocument(body, limits: .stored))?.root,
            let interactiveData = root["interactiveData"], let data = interactiveData["data"]
        else { return body }
        func content(_ requestIdentifier: String) -> [UInt8] {
            let data = data.replacing(members: ["requestIdentifier": JSONForm.text.json(requestIdentifier)])
            return interactiveData.replacing(members: ["data": data])
        }
        let identifier = MessageID(derivedFrom: content("")).rawValue
        return root.replacing(members: ["interactiveData": content(identifier)])
    }
}
