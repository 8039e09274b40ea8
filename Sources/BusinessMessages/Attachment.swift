internal import BalloonJSON

/// A file of a text or an interactive message, stored encrypted at Apple.
///
/// ```json
/// {"name": "IMG_0001.HEIC", "mimeType": "image/heic", "size": 148861, "key": "00AB…", "signature": "813E…",
///  "url": "https://p29-content.icloud.com/MY57…", "owner": "MY57…"}
/// ```
/// Every field may be missing; names of older gateways (`file-size`, `mmcs-url`) are accepted too.
public struct Attachment: Equatable, Sendable {
    /// The maximum length of a file in either direction.
    ///
    /// Apple says 100 MB, which can mean 100,000,000 or 104,857,600 bytes. This is the larger number, so that the
    /// server refuses no file that Apple accepts.
    public static let maximumBytes = 100 << 20

    /// The file name claimed by the device; never use it as a path.
    public let name: String?
    /// The media type claimed by the device.
    public let mimeType: String?
    /// The length of the encrypted file in bytes, which equals that of the original; sent as a number or as a
    /// string.
    public let sizeBytes: Int?
    /// The value for the header `MMCS-Url` of a download; the server never requests this URL itself.
    public let url: String?
    /// The value for the header `MMCS-Owner` of a download.
    public let owner: String?
    /// The AES-256 key: `00` and 64 hexadecimal digits in either case.
    public let key: String?
    /// The file's checksum in hexadecimal digits of either case.
    public let signature: String?
    /// The file's checksum in Base64.
    public let signatureBase64: String?
    /// The index of the file's marker U+FFFC in the body, counted in Unicode scalars.
    ///
    /// `nil` when the body has no marker for the file.
    public let place: Int?

    init(_ value: JSONValue, place: Int?) {
        name = value["name"]?.scalarString
        mimeType = value.first("mimeType", "mime-type")?.scalarString
        sizeBytes = value.first("size", "file-size")?.scalarInt.flatMap { $0 >= 0 ? $0 : nil }
        url = value.first("url", "mmcs-url")?.nonEmptyString
        owner = value.first("owner", "mmcs-owner")?.nonEmptyString
        key = value.first("key", "decryption-key")?.nonEmptyString
        signature = value.first("signature", "mmcs-signature-hex")?.nonEmptyString
        signatureBase64 = value["signature-base64"]?.nonEmptyString
        self.place = place
    }
}
