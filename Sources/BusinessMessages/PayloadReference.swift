public import BalloonJSON

/// The reference to content that is too large for the webhook: the member `interactiveDataRef`.
///
/// ```json
/// {"bid": "com.apple…", "url": "https://…", "owner": "M58…", "key": "00c0d1…",
///  "signature": "81a6…", "signature-base64": "gaYZ…", "size": 101267, "title": "…"}
/// ```
/// Apple MSP API, "Receiving an Interactive Message". The server must resolve the reference at once, because
/// it expires within seconds.
public struct PayloadReference: Equatable, Sendable {
    /// The identifier of the payload's iMessage extension; `decodePayload` requires it as a header.
    public let bid: String
    /// The value for the header `MMCS-Url` of a download; the server never requests this URL itself.
    public let url: String
    /// The value for the header `MMCS-Owner` of a download.
    public let owner: String
    /// The AES-256 key: `00` and 64 hexadecimal digits in either case.
    public let key: String
    /// The file's checksum in hexadecimal digits of either case.
    public let signature: String?
    /// The file's checksum in Base64, which is used even when `signature` differs from it.
    public let signatureBase64: String?
    /// The length of the encrypted file; sent as a number or as a string.
    public let sizeBytes: Int?
    /// The title of the answered bubble.
    public let title: String?

    /// Reads an `interactiveDataRef`; `nil` without `url`, `owner` or `key`, or when one of them is not a
    /// valid header value.
    ///
    /// A missing `bid` means Apple's own extension.
    public init?(_ value: JSONValue) {
        guard
            let url = value["url"]?.headerValue,
            let owner = value["owner"]?.headerValue,
            let key = value["key"]?.headerValue
        else { return nil }
        self.url = url
        self.owner = owner
        self.key = key
        bid = value["bid"]?.headerValue ?? Interaction.businessExtension
        signature = value["signature"]?.headerValue
        signatureBase64 = value["signature-base64"]?.headerValue
        sizeBytes = value["size"]?.scalarInt.flatMap { $0 >= 0 ? $0 : nil }
        title = value["title"]?.nonEmptyString
    }

    /// Reads the reference of a complete message; `nil` when the message has no valid reference.
    public init?(message: JSONDocument) {
        guard let reference = message.root["interactiveDataRef"]?.object else { return nil }
        self.init(reference)
    }
}

extension JSONValue {
    /// The string, unless it is empty or contains characters that would end a header line.
    fileprivate var headerValue: String? {
        guard let string = nonEmptyString, string.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            return nil
        }
        return string
    }
}
