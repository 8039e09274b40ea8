/// The limits of the Retention Messaging API (Apple, "Upload Message", "Upload Image" and "Configure Realtime URL").
public enum RetentionLimits {
    /// The maximum characters of a header.
    public static let maximumHeader = 66
    /// The maximum characters of a body.
    public static let maximumBody = 144
    /// The maximum characters of an image's alternative text.
    public static let maximumAlternativeText = 150
    /// The maximum characters of a bullet point.
    public static let maximumBulletText = 66
    /// The maximum number of bullet points of a message.
    public static let maximumBulletPoints = 5
    /// The maximum number of messages of an app.
    public static let maximumMessages = 2000
    /// The maximum number of images of an app.
    public static let maximumImages = 2000
    /// The maximum characters of the real-time URL.
    public static let maximumURL = 256
    /// The width of a full-size image in pixels.
    public static let fullWidth = 3840
    /// The allowed heights of a full-size image in pixels.
    public static let fullHeights = 160...2160
    /// The width and height of a bullet point's image in pixels.
    public static let bulletSide = 1024
}
