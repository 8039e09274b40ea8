import BalloonJSON
import BalloonWire

/// An `interactiveDataRef` of the simulator, with Apple's fields.
package struct SimulatedReference: Sendable, Equatable {
    /// The identifier of the iMessage extension.
    package var bid: String
    /// The name of the file, as a URL that is never requested.
    package var url: String
    /// The owner of the file.
    package var owner: String
    /// `00` and the key in lower-case hexadecimal digits.
    package var key: String
    /// The checksum in hexadecimal digits.
    package var signature: String
    /// The checksum in Base64.
    package var signatureBase64: String
    /// The length of the encrypted file.
    package var sizeBytes: Int
    /// The title of the bubble, or the URL of a link.
    package var title: String?

    /// The reference as a JSON object.
    package var json: [UInt8] {
        JSONWriter.object([
            "bid": bid, "url": url, "owner": owner, "key": key, "signature": signature,
            "signature-base64": signatureBase64, "size": sizeBytes, "title": title,
        ])
    }

    /// Apple's answer to a message with `include-data-ref`: the reference without its key, and with the
    /// signature `dataRefSig`.
    var answerToMessage: [UInt8] {
        JSONWriter.object([
            "dataRef": JSONObject([
                "bid": bid, "owner": owner, "url": url, "size": sizeBytes, "signature": signature,
                "signature-base64": signatureBase64, "title": title,
                "dataRefSig": Base64.encode(SHA256.hash(url.utf8)),
            ])
        ])
    }

    /// Apple's answer to `constructPayload`.
    var answerToConstructPayload: [UInt8] {
        JSONWriter.object([
            "version": "1.0",
            "richLinkDataRef": JSONObject([
                "title": title, "signature-base64": signatureBase64, "size": sizeBytes, "url": url,
                "owner": owner, "key": key,
            ]),
        ])
    }
}
