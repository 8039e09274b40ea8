public import BalloonJSON

/// Content that Apple stores already: the value of a request's `interactiveDataRef` or `richLinkDataRef`.
///
/// ```json
/// {"bid": "com.apple…", "title": "…", "url": "https://…", "owner": "M58…", "size": 101267,
///  "signature-base64": "gaYZ…", "signature": "81a6…", "key": "00c0…", "dataRefSig": "…"}
/// ```
/// The gateway returns it as `dataRef` for a message sent with `include-data-ref: true`, and as `richLinkDataRef` from
/// `constructPayload`. A business may send it for 30 days (Apple MSP API, "Receiving an Interactive Message").
public struct UploadedPayload: Hashable, Sendable {
    /// The object as it is sent.
    public let json: [UInt8]

    /// Wraps the gateway's answer unchanged; `nil` when it is not an object.
    public init?(_ value: JSONValue) {
        guard let json = value.objectText else { return nil }
        self.json = json
    }

    /// Creates a payload from an upload; a rich link has no `bid`.
    public init(
        bid: String? = Interaction.businessExtension, title: String? = nil, url: String, owner: String,
        sizeBytes: Int, signatureBase64: String, signature: String? = nil, key: String? = nil,
        dataRefSig: String? = nil
    ) {
        json = JSONWriter.object([
            "bid": bid, "title": title, "url": url, "owner": owner, "size": sizeBytes,
            "signature-base64": signatureBase64, "signature": signature, "key": key, "dataRefSig": dataRefSig,
        ])
    }
}
