internal import BalloonJSON

/// A file that came with a text, encrypted at Apple's.
///
/// ```json
/// {"name": "IMG_0001.HEIC", "mimeType": "image/heic", "size": 148861, "key": "00AB…", "signature": "813E…",
///  "url": "https://p29-content.icloud.com/MY57…", "owner": "MY57…"}
/// ```
/// Every field may be missing; names of older gateways (`file-size`, `mmcs-url`) are read too.
public struct Attachment: Equatable, Sendable {
    /// The file's name as the device calls it; never a path to use.
    public let name: String?
    /// The media type as the device calls it.
    public let mimeType: String?
    /// The length of the encrypted file, the same as that of the file; sent as a number or as a string.
    public let sizeBytes: Int?
    /// The value of the header `MMCS-Url`; never fetched itself.
    public let url: String?
    /// The value of the header `MMCS-Owner`.
    public let owner: String?
    /// `00` and 64 hexadecimal digits in either case: the AES-256 key.
    public let key: String?
    /// The file's checksum in hexadecimal digits of either case.
    public let signature: String?
    /// The file's checksum in Base64.
    public let signatureBase64: String?
    /// The place of its U+FFFC in the body, counted in Unicode scalars; `nil` when the body has none for it.
    public let place: Int?

    init(_ value: JSONValue, place: Int?) {
        name = value["name"]?.scalarString
        mimeType = value.first("mimeType", "mime-type")?.scalarString
        sizeBytes = value.first("size", "file-size")?.scalarInt.flatMap { $0 >= 0 ? $0 : nil }
        url = value.first("url", "mmcs-url")?.nonEmptyString
        owner = value.first("owner", "mmcs-owner")?.nonEmptyString
        key = value.first("key", "decryption-key")?.nonEmptyString
        signature = value["signature"]?.nonEmptyString
        signatureBase64 = value["signature-base64"]?.nonEmptyString
        self.place = place
    }
}
