public import BalloonJSON

/// A message that the App Store shows to a subscriber who is about to cancel.
///
/// ```json
/// {"header": "Stay with us", "body": "Half price for three months.",
///  "image": {"imageIdentifier": "a1b2c3d4-…", "altText": "A cat"}, "headerPosition": "ABOVE_IMAGE",
///  "bulletPoints": [{"text": "More cats", "imageIdentifier": "a1b2c3d4-…", "altText": "A cat"}]}
/// ```
///
/// Only `header` and `body` are required.
public struct RetentionMessage: Hashable, Sendable {
    /// The reference to an uploaded image.
    public struct Image: Hashable, Sendable {
        /// The identifier of the image.
        public var identifier: RetentionID
        /// The text for people who do not see the image.
        public var alternativeText: String

        /// Creates a reference.
        public init(_ identifier: RetentionID, alternativeText: String) {
            self.identifier = identifier
            self.alternativeText = alternativeText
        }
    }

    /// One line of a list, with an image in front.
    public struct BulletPoint: Hashable, Sendable {
        /// The text.
        public var text: String
        /// The image, with 1,024 × 1,024 pixels.
        public var image: Image

        /// Creates a bullet point.
        public init(_ text: String, image: Image) {
            self.text = text
            self.image = image
        }
    }

    /// The place of the header.
    public enum HeaderPosition: String, Sendable {
        /// Between the image and the body.
        case aboveBody = "ABOVE_BODY"
        /// Above the image, which must exist.
        case aboveImage = "ABOVE_IMAGE"
    }

    /// The text above the body.
    public var header: String
    /// The main text.
    public var body: String
    /// The image of full size.
    public var image: Image?
    /// The place of the header; nil for Apple's default.
    public var headerPosition: HeaderPosition?
    /// The list, with at most five points.
    public var bulletPoints: [BulletPoint]

    /// Creates a message without checking the App Store's rules.
    public init(
        header: String, body: String, image: Image? = nil, headerPosition: HeaderPosition? = nil,
        bulletPoints: [BulletPoint] = []
    ) {
        self.header = header
        self.body = body
        self.image = image
        self.headerPosition = headerPosition
        self.bulletPoints = bulletPoints
    }

    /// Whether the message has neither image nor bullet points, as the App Store requires beside an offer or
    /// another product.
    public var isPlain: Bool { image == nil && bulletPoints.isEmpty }

    /// The identifiers of the message's images.
    public var images: Set<RetentionID> {
        Set([image].compactMap { $0?.identifier } + bulletPoints.map(\.image.identifier))
    }

    /// The JSON for "Upload Message".
    public var json: [UInt8] {
        let points = bulletPoints.map { point in
            JSONObject([
                "text": point.text, "imageIdentifier": point.image.identifier.text,
                "altText": point.image.alternativeText,
            ])
        }
        return JSONWriter.object([
            "header": header, "body": body,
            "image": image.map {
                JSONObject(["imageIdentifier": $0.identifier.text, "altText": $0.alternativeText])
            }, "headerPosition": headerPosition?.rawValue, "bulletPoints": points.isEmpty ? nil : points,
        ])
    }

    /// Reads a message, and finds all problems for which the App Store would refuse it.
    ///
    /// The message is nil when a required member is missing or has the wrong type. When the message only
    /// exceeds a limit, both the message and the problem are returned.
    public static func read(
        _ value: JSONValue, images: ImageMember = .uploaded
    ) -> (message: RetentionMessage?, problems: [RetentionProblem]) {
        var reader = RetentionReader()
        let message = read(value, images, &reader)
        return (message, reader.problems)
    }

    private static func read(
        _ value: JSONValue, _ images: ImageMember, _ reader: inout RetentionReader
    ) -> RetentionMessage? {
        let isComplete = reader.isObject(
            value, required: ["header", "body"], optional: ["image", "headerPosition", "bulletPoints"])
        let header = reader.text(
            "header", of: value, maximum: RetentionLimits.maximumHeader, rule: .headerLength)
        let body = reader.text("body", of: value, maximum: RetentionLimits.maximumBody, rule: .bodyLength)
        let image = value["image"].flatMap { member in
            reader.isObject(member, required: [images.name, "altText"])
                ? reader.image(member, images) : nil
        }
        let position = position(of: value, &reader)
        if position == .aboveImage, value["image"] == nil, let member = value["headerPosition"] {
            reader.report(
                .headerAboveImage, at: member, found: "ABOVE_IMAGE without an image",
                allowed: "ABOVE_BODY, or an image")
        }
        let points = points(of: value, images, &reader)
        guard isComplete, let header, let body else { return nil }
        return RetentionMessage(
            header: header, body: body, image: image, headerPosition: position, bulletPoints: points)
    }

    private static func position(of value: JSONValue, _ reader: inout RetentionReader) -> HeaderPosition? {
        guard let member = value["headerPosition"] else { return nil }
        guard let position = member.string.flatMap(HeaderPosition.init(rawValue:)) else {
            reader.report(.form, at: member, found: "another value", allowed: "ABOVE_BODY or ABOVE_IMAGE")
            return nil
        }
        return position
    }

    private static func points(
        of value: JSONValue, _ images: ImageMember, _ reader: inout RetentionReader
    ) -> [BulletPoint] {
        guard let list = value["bulletPoints"] else { return [] }
        guard list.kind == .array else {
            reader.report(.form, at: list, found: "no list", allowed: "a list of objects")
            return []
        }
        guard list.count <= RetentionLimits.maximumBulletPoints else {
            reader.report(
                .bulletPointCount, at: list, found: "\(list.count) points",
                allowed: "\(RetentionLimits.maximumBulletPoints)")
            return []
        }
        return list.elements.compactMap { element in
            guard reader.isObject(element, required: ["text", images.name, "altText"]) else { return nil }
            let text = reader.text(
                "text", of: element, maximum: RetentionLimits.maximumBulletText, rule: .bulletTextLength)
            guard let image = reader.image(element, images), let text else { return nil }
            return BulletPoint(text, image: image)
        }
    }
}

/// The JSON member that refers to an image: by identifier in the API, and by file name in the folder of an
/// app.
public struct ImageMember {
    /// The name of the member.
    public let name: String
    /// Returns the identifier of the image to which the member's text refers; nil for an unknown image.
    public let identifier: (String) -> RetentionID?

    /// Creates a member.
    public init(_ name: String, identifier: @escaping (String) -> RetentionID?) {
        self.name = name
        self.identifier = identifier
    }

    /// The member `imageIdentifier` of the API, which accepts any UUID.
    public static var uploaded: ImageMember { ImageMember("imageIdentifier") { RetentionID($0) } }
}

extension RetentionReader {
    fileprivate mutating func image(_ value: JSONValue, _ images: ImageMember) -> RetentionMessage.Image? {
        let alternativeText = text(
            "altText", of: value, maximum: RetentionLimits.maximumAlternativeText,
            rule: .alternativeTextLength)
        guard let name = text(images.name, of: value), let member = value[images.name] else { return nil }
        guard let identifier = images.identifier(name) else {
            report(.reference, at: member, found: "the name of no image", allowed: "the name of an image")
            return nil
        }
        return alternativeText.map { RetentionMessage.Image(identifier, alternativeText: $0) }
    }
}
