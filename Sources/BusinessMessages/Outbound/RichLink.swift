internal import BalloonJSON

/// A web page with its title, its image and maybe a video, in one bubble.
///
/// ```json
/// {"type": "richLink", "richLinkData": {"url": "https://…", "title": "…", "assets": {
///          "image": {"data": "iVBOR…", "mimeType": "image/png"},
///          "video": {"url": "https://…", "mimeType": "video/mp4"}}}}
/// ```
/// Apple MSP API, "Rich Links". Apple wants every link sent like this; every device shows it. Links with a scheme
/// of an app's own do not open; universal links do.
public struct RichLink: Hashable, Sendable {
    /// The image of a link; at most 200 kB, best 240 x 240 pixels.
    public struct Image: Hashable, Sendable {
        /// The file, written as Base64; a remote image would be refused.
        public let bytes: [UInt8]
        /// `image/png`, `image/jpeg` and so on.
        public let mimeType: String

        /// Makes an image from a file's bytes.
        public init(bytes: [UInt8], mimeType: String) {
            self.bytes = bytes
            self.mimeType = mimeType
        }
    }

    /// The video that the bubble plays; the image is shown until then.
    public struct Video: Hashable, Sendable {
        /// Where the device loads it.
        public let url: String
        /// `video/mp4` and so on.
        public let mimeType: String

        /// Makes a video.
        public init(url: String, mimeType: String) {
            self.url = url
            self.mimeType = mimeType
        }
    }

    /// What opens when the customer taps.
    public let url: String
    /// The line under the image.
    public let title: String
    /// What the bubble shows.
    public let image: Image?
    /// What the bubble plays.
    public let video: Video?

    /// Makes a link.
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
