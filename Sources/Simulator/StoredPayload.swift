import BalloonWire
import BusinessMessages

/// An encrypted payload stored by the gateway, with its reference.
struct StoredPayload: Sendable {
    /// The last component of the payload's download address.
    let name: String
    private(set) var reference: SimulatedReference
    let business: BusinessID
    let content: StoredContent

    /// Stores content that a client encrypted; its reference has no key, because the gateway does not know the
    /// key.
    init(uploaded content: StoredContent, _ checksum: [UInt8], as place: UploadPlace) {
        self.content = content
        business = place.business
        name = place.name
        reference = SimulatedReference(
            bid: "", url: place.url, owner: place.owner, key: "", signature: Hex.encode(checksum),
            signatureBase64: Base64.encode(checksum), sizeBytes: content.sizeBytes, title: nil)
    }

    /// Encrypts a payload with a fresh key.
    init(_ payload: SimulatedPayload) throws(WireError) {
        let key = AttachmentKey()
        var bytes = payload.encode()
        let cipher = try AES256CTR(key: key.secret)
        cipher.apply(to: &bytes)
        let checksum = AttachmentChecksum()
        checksum.append(bytes)
        self.init(
            uploaded: StoredContent(bytes), checksum.bytes,
            as: UploadPlace(business: payload.business, sizeBytes: bytes.count))
        let interactiveData = payload.interactiveData
        let bubble = interactiveData["data"]?["receivedMessage"] ?? interactiveData["receivedMessage"]
        reference.bid = interactiveData["bid"]?.string ?? Interaction.businessExtension
        reference.key = key.field
        reference.title = bubble?["title"]?.string
    }
}

/// The address where a business may upload one file.
struct UploadPlace: Sendable {
    let name = Hex.encode(randomBytes(24)).uppercased()
    let business: BusinessID
    let sizeBytes: Int

    var url: String { "https://p61-content.icloud.com/M\(name).C01USN00" }
    var owner: String { "M\(name).C01USN00" }
}
