internal import BalloonJSON

/// The customer's card as the payment sheet shows it.
public struct PaymentMethod: Hashable, Sendable {
    /// The kind of card in lower case: `credit`, `debit`, `prepaid` or `store`.
    public let type: String?
    /// The card's name, such as `Visa 1234`; only in a payment token.
    public let displayName: String?
    /// The card network; only in a payment token.
    public let network: String?

    init(_ value: JSONValue) {
        type = value["type"]?.nonEmptyString?.lowercased()
        displayName = value["displayName"]?.nonEmptyString
        network = value["network"]?.nonEmptyString
    }
}

/// The encrypted payment token; pass it to the payment provider, and never log or store it.
public struct PaymentToken: Hashable, Sendable {
    /// The token as Apple sent it: `{"paymentData": {…}, "paymentMethod": {…}, "transactionIdentifier": "…"}`.
    public let json: [UInt8]
    /// The card.
    public let method: PaymentMethod?
    /// Apple's identifier of the transaction.
    public let transactionIdentifier: String?
    /// The encrypted part, decoded: `paymentData.data`.
    package let encryptedData: [UInt8]

    /// Reads a token; nil without the encrypted part.
    init?(_ value: JSONValue) {
        guard let json = value.objectText, let data = value["paymentData"]?["data"]?.base64Bytes,
            !data.isEmpty
        else { return nil }
        self.json = json
        encryptedData = data
        method = value["paymentMethod"]?.object.map(PaymentMethod.init)
        transactionIdentifier = value["transactionIdentifier"]?.nonEmptyString
    }
}

extension PaymentToken: CustomStringConvertible, CustomDebugStringConvertible {
    /// A text without the token.
    public var description: String { "[payment token]" }

    /// A text without the token.
    public var debugDescription: String { description }
}
