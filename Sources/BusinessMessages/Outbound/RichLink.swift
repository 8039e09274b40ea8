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
        /// The file, written as Base64; a remote image would be refused.
        public let bytes: [UInt8]
        /// `image/png`, `image/jpeg` and so on.
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
        /// `video/mp4` and so on.
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

    /// Creates a link.
    public init(_ url: String, title: String, image: Image?, video: Video? = nil) {
        self.url = url
        self.title = title
        self.image = image
        self.video = video
    }

    func write(to writer: inout JSONWriter) {
        writer.object("richLinkData") { writer in
            writer.field("url", url)
            writer.field("title", title)
            guard image != nil || video != nil else { return }
            writer.object("assets") { writer in
                if let image {
                    writer.object("image") { writer in
                        writer.base64("data", image.bytes)
                        writer.field("mimeType", image.mimeType)
                    }
                }
                if let video {
                    writer.object("video") { writer in
                        writer.field("url", video.url)
                        writer.field("mimeType", video.mimeType)
                    }
                }
            }
        }
    }
}
