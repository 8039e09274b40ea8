internal import BalloonJSON

extension Checks {
    /// The recommended maximum size of a rich link's image in bytes.
    static let maximumLinkImageBytes = 200_000

    static let attachment = object(
        "Sending Messages with Attachments",
        [
            .required("name", words), .required("mimeType", words), .required("size", attachmentSize),
            .required("signature-base64", base64), .required("url", webAddress),
            .required("owner", words), .required("key", key), .optional("signature", text),
        ])

    /// Checks that a size is a string with a number, as in Apple's sample; Apple's table shows a plain number.
    private static let attachmentSize: Check = { value, inspection in
        guard let text = value.string else {
            return inspection.report(.type, at: value, allowed: "a number as a text")
        }
        guard let size = Int(text), (0...Attachment.maximumBytes).contains(size) else {
            return inspection.report(
                .attachmentSize, at: value, allowed: "0 to \(Attachment.maximumBytes) bytes")
        }
    }

    private static let key = text(.attachmentKey, allowed: "00 and 64 hexadecimal digits") {
        $0.isHexadecimal(digits: 66) && $0.utf8.starts(with: "00".utf8)
    }

    private static let size = refuse(.type, allowed: "a number of bytes") {
        $0.int == nil && $0.string.flatMap { Int($0) } == nil
    }

    private static let reference: [Member] = [
        .required("url", webAddress), .required("owner", words), .required("size", size),
        .required("signature-base64", base64), .optional("signature", text), .optional("key", key),
        .optional("title", text), .optional("dataRefSig", text),
    ]

    static let uploadedLink = object("Rich Links", reference + [.optional("bid", bid)])

    static let uploadedInteraction = object(
        "Receiving an Interactive Message", reference + [.required("bid", bid)])

    static let richLink = object(
        "Rich Links",
        [
            .required("url", linkAddress), .required("title", words),
            .optional("assets", object("Rich Links", assets, then: checkAssets)),
        ])

    /// Checks a link whose preview Apple makes; the server replaces `preview` before it sends the message.
    static let preview = object(
        "Rich Links",
        [
            .required("url", linkAddress), .optional("title", words),
            .optional("storeRegion", text(.type, allowed: "two letters, such as us") { $0.isStoreRegion }),
        ])

    private static let linkAddress: Check = { value, inspection in
        guard let text = value.string else {
            return inspection.report(.type, at: value, allowed: "a text")
        }
        guard !text.isWebAddress(schemes: ["https", "http"]) else { return }
        if let scheme = text.webScheme, !scheme.lowercased().utf8.starts(with: "http".utf8) {
            inspection.report(.linkScheme, at: value, allowed: "https or http")
        } else {
            inspection.report(.webAddress, at: value, allowed: "https:// and a host")
        }
    }

    private static let assets: [Member] = [
        .optional(
            "image",
            object("Rich Links", [.required("data", all(base64, linkImage)), .required("mimeType", words)])),
        .optional(
            "video", object("Rich Links", [.required("url", webAddress), .required("mimeType", words)])),
    ]

    private static let linkImage: Check = { value, inspection in
        guard let bytes = value.base64Bytes, bytes.count > maximumLinkImageBytes else { return }
        inspection.report(
            .linkImageBytes, at: value, found: "\(bytes.count) bytes",
            allowed: "at most \(maximumLinkImageBytes) bytes")
    }

    private static let checkAssets = refuse(
        .linkVideoImage, missing: "image", allowed: "an image, shown before the video plays"
    ) { $0["video"] != nil && $0["image"] == nil }
}

extension String {
    /// Whether the text is a two-letter country code in lower case.
    fileprivate var isStoreRegion: Bool {
        utf8.count == 2 && utf8.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
    }
}
