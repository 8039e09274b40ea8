import BalloonJSON
import BalloonWire
import BusinessMessages

/// An encrypted payload as the gateway keeps it, and the reference by which it is found.
struct StoredPayload: Sendable {
    /// The last part of the address from which it is downloaded.
    let name: String
    let reference: SimulatedReference
    let business: BusinessID
    let ciphertext: [UInt8]

    /// Keeps what a business has encrypted itself; its key is not known here.
    init(uploaded ciphertext: [UInt8], as place: UploadPlace) {
        self.ciphertext = ciphertext
        business = place.business
        name = place.name
        let checksum = MMCSChecksum(of: ciphertext)
        reference = SimulatedReference(
            bid: "", url: place.url, owner: place.owner, key: "", signature: checksum.hex,
            signatureBase64: checksum.base64, sizeBytes: ciphertext.count, title: nil)
    }

    /// Encrypts a payload with a key of its own.
    init(_ payload: SimulatedPayload) throws(WireError) {
        let key = AttachmentKey()
        var bytes = payload.encode()
        var cipher = try AES256CTR(key: key.secret)
        cipher.apply(to: &bytes)
        ciphertext = bytes
        business = payload.business
        name = Hex.encode(randomBytes(24)).uppercased()
        let interactiveData = payload.interactiveData
        let bubble = interactiveData["data"]?["receivedMessage"] ?? interactiveData["receivedMessage"]
        let checksum = MMCSChecksum(of: bytes)
        reference = SimulatedReference(
            bid: interactiveData["bid"]?.string ?? Interaction.businessExtension,
            url: "https://p61-content.icloud.com/M\(name).C01USN00", owner: "M\(name).C01USN00",
            key: key.field, signature: checksum.hex, signatureBase64: checksum.base64,
            sizeBytes: bytes.count, title: bubble?["title"]?.string)
    }
}

/// Where a business may upload one file.
struct UploadPlace: Sendable {
    let name = Hex.encode(randomBytes(24)).uppercased()
    let business: BusinessID
    let sizeBytes: Int

    var url: String { "https://p61-content.icloud.com/M\(name).C01USN00" }
    var owner: String { "M\(name).C01USN00" }
}
