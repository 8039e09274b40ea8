internal import BalloonJSON

/// A web page with its title, its image and possibly a video, in one bubble.
///
/// ```json
/// {"type": "richLink", "richLinkData": {"url": "https://…", "title": "…", "assets": {
///          "image": {"data": "iVBOR…", "mimeType": "image/png"},
///          "video": {"url": "https://…", "mimeType": "video/mp4"}}}}
/// ```
/// Apple MSP API, "Rich Links". Apple recommends this form for every link, and every device shows it. Links
/// with an app's own scheme do not open; universal links do.
public struct RichLink: Hashable, Sendable {
    /// The image of a link; at most 200 kB, best 240 x 240 pixels.
    public struct Image: Hashable, Sendable {
        /// The bytes of the image's file, written as Base64; Apple refuses an image that is given as a URL.
        public let bytes: [UInt8]
        /// The media type, such as `image/png` or `image/jpeg`.
        public let mimeType: String

        /// Creates an image from a file's bytes.
        public init(bytes: [UInt8], mimeType: String) {
            self.bytes = bytes
            self.mimeType = mimeType
        }
    }

    /// The video that the bubble plays; the image is shown before it.
    public struct Video: Hashable, Sendable {
        /// The URL from which the device loads the video.
        public let url: String
        /// The media type, such as `video/mp4`.
        public let mimeType: String

        /// Creates a video.
        public init(url: String, mimeType: String) {
            self.url = url
            self.mimeType = mimeType
        }
    }

    /// The page that a tap opens.
    public let url: String
    /// The line under the image.
    public let title: String
    /// The image of the bubble.
    public let image: Image?
    /// The video of the bubble.
    public let video: Video?
    /// The country code of the App Store from which Apple makes the preview.
    ///
    /// Nil when the bubble shows ``title`` and ``image`` instead.
    public private(set) var previewRegion: String?

    /// Whether the server reads title and image from the page when it sends the link.
    private var isRead = false

    /// Returns the same link, whose title and image the server reads from the page.
    func read() -> RichLink {
        var link = self
        link.isRead = true
        return link
    }

    /// Creates a link without a title; call ``fetched(storeRegion:)`` on it, so that Apple makes the preview.
    public init(_ url: String) { self.init(url, title: "", image: nil) }

    /// Returns the same link with the preview that Apple makes of an App Clip, a song or a place.
    ///
    /// The server asks Apple for the preview when it sends the message (`constructPayload`). When Apple has
    /// no preview for the address, the server sends the link with its title only, or refuses a link without a
    /// title. `storeRegion` is a country code.
    public func fetched(storeRegion: String = "us") -> RichLink {
        var link = self
        link.previewRegion = storeRegion
        return link
    }

    /// Creates a link.
    public init(_ url: String, title: String, image: Image?, video: Video? = nil) {
        self.url = url
        self.title = title
        self.image = image
        self.video = video
    }

    func write(to writer: inout JSONWriter) {
        if let previewRegion {
            return writer.field(
                "preview",
                JSONObject(["url": url, "storeRegion": previewRegion, "title": title.isEmpty ? nil : title]))
        }
        if isRead { writer.field("page", true) }
        let image: JSONObject? = image.map { ["data": Base64.encode($0.bytes), "mimeType": $0.mimeType] }
        let video: JSONObject? = video.map { ["url": $0.url, "mimeType": $0.mimeType] }
        let hasAssets = image != nil || video != nil
        writer.field(
            "richLinkData",
            JSONObject([
                "url": url, "title": title,
                "assets": hasAssets ? JSONObject(["image": image, "video": video]) : nil,
            ]))
    }
}
