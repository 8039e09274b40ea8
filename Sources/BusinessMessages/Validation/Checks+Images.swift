internal import BalloonJSON

extension Checks {
    static let image = object(
        "ImageItem Dictionary",
        [
            .required("identifier", looseIdentifier), .required("data", all(base64, imageFile)),
            // Null is allowed: VoiceOver then skips the image.
            .optional("description", nullable(text)),
        ])

    private static let imageFile: Check = { value, inspection in
        guard let bytes = value.base64Bytes, !bytes.isEmpty else { return }
        if ImageSize(header: bytes) == nil {
            inspection.report(.imageFormat, at: value, found: "another file", allowed: "a PNG or JPEG file")
        }
        // PNG stores pixels per metre, and 72 dpi are 2,834.6 pixels per metre, so round before comparing.
        if let resolution = imageResolution(of: bytes), Int(resolution.rounded()) != 72 {
            inspection.report(
                .imageResolution, at: value, found: "\(Int(resolution.rounded())) dpi", allowed: "72 dpi")
        }
    }

    /// An image of a message, and its size, which is read once for all references to the image.
    private struct KnownImage {
        let data: JSONValue?
        let size: ImageSize?
        var isUsed = false

        init(_ image: JSONValue) {
            data = image["data"]
            size = data?.base64Bytes.flatMap { ImageSize(header: $0) }
        }
    }

    /// Checks that images are unique, used and of the right size, and that every `imageIdentifier` names one of them.
    static func checkImages(of interactiveData: JSONValue, _ inspection: inout Inspection) {
        // A sign-in or payment that the server completes has its images beside its bubbles.
        let list = interactiveData["data"]?["images"] ?? interactiveData["images"]
        let images = list?.elements.filter { $0.kind == .object } ?? []
        unique(images, "identifier", .imageIdentifiers, &inspection)
        let names = images.map { $0["identifier"]?.scalarBytes }
        var known: [ArraySlice<UInt8>: KnownImage] = [:]
        for (image, name) in zip(images, names) {
            if let name { known[name] = KnownImage(image) }
        }
        let suggestion = known.isEmpty ? "an image in data.images" : tenNames(names.compactMap(\.self))
        for (reference, size) in imageReferences(in: interactiveData) {
            // Look up an empty text too: it is reported because no image has this identifier.
            guard let name = reference.textBytes ?? reference.scalarBytes else { continue }
            guard let image = known[name] else {
                inspection.report(.imageReference, at: reference, allowed: suggestion)
                continue
            }
            known[name]?.isUsed = true
            if let expected = size, let found = image.size, found != expected, let data = image.data {
                inspection.report(
                    .imagePixels, at: data, found: "\(found) pixels", allowed: "\(expected) pixels")
            }
        }
        for (image, name) in zip(images, names) {
            guard let identifier = image["identifier"], let name, known[name]?.isUsed == false else {
                continue
            }
            inspection.report(.unusedImage, at: identifier, allowed: "an imageIdentifier that names it")
        }
    }

    /// The size for a bubble's style, which is `icon` by default; nil for an unknown style.
    private static func bubbleSize(_ style: JSONValue?) -> ImageSize? {
        guard let style, style.kind == .string else { return .of(style: .icon) }
        return OutboundBubble.Style.allCases.first { style.equals($0.rawValue) }.map(ImageSize.of)
    }

    /// Every `imageIdentifier` of a message of Apple's own kinds, with the size in which the image is displayed.
    private static func imageReferences(in value: JSONValue) -> [(JSONValue, ImageSize?)] {
        var found: [(JSONValue, ImageSize?)] = []
        func add(_ owner: JSONValue?, _ size: ImageSize?) {
            if let reference = owner?["imageIdentifier"] { found.append((reference, size)) }
        }
        for name in ["receivedMessage", "replyMessage"] {
            let isPayment = value["paymentRequest"] != nil && name == "receivedMessage"
            add(value[name], isPayment ? .of(style: .large) : bubbleSize(value[name]?["style"]))
        }
        let data = value["data"]
        for section in data?["listPicker"]?["sections"]?.objects ?? [] {
            for item in section["items"]?.objects ?? [] { add(item, .listItem) }
        }
        add(data?["event"], .event)
        let form = data?["dynamic"]?["data"]
        add(form?["splash"], nil)
        for page in form?["pages"]?.objects ?? [] {
            for item in page["items"]?.objects ?? [] { add(item, nil) }
        }
        return found
    }
}
