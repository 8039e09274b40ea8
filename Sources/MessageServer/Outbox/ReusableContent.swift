import BalloonJSON
import BalloonWire
import BusinessMessages

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

extension MessageID {
    /// Creates a UUID of version 8 (RFC 9562 §5.8) from the first 16 bytes of the SHA-256 of `bytes`.
    init(derivedFrom bytes: [UInt8]) {
        var bytes = SHA256.hash(bytes).prefix(16)
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        var text = ""
        for (place, digit) in Hex.encode(bytes).enumerated() {
            if [8, 12, 16, 20].contains(place) { text.append("-") }
            text.append(digit)
        }
        self.init(text)
    }
}
