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

    /// Checks that images are unique, used and of the right size, and that every `imageIdentifier` names one of them.
    static func checkImages(of interactiveData: JSONValue, _ inspection: inout Inspection) {
        // A sign-in or payment that the server completes has its images beside its bubbles.
        let list = interactiveData["data"]?["images"] ?? interactiveData["images"]
        let images = list?.elements.filter { $0.kind == .object } ?? []
        unique(images, "identifier", .imageIdentifiers, &inspection)
        var byName: [String: JSONValue] = [:]
        for image in images {
            if let name = image["identifier"]?.scalarString { byName[name] = image }
        }
        var used: Set<String> = []
        for (reference, size) in imageReferences(in: interactiveData) {
            // Look up an empty text too: it is reported because no image has this identifier.
            guard let name = reference.string ?? reference.scalarString else { continue }
            used.insert(name)
            guard let image = byName[name] else {
                inspection.report(
                    .imageReference, at: reference,
                    allowed: byName.isEmpty
                        ? "an image in data.images" : byName.keys.sorted().joined(separator: " "))
                continue
            }
            checkPixels(of: image, expected: size, &inspection)
        }
        for image in images {
            guard let identifier = image["identifier"], let name = identifier.scalarString,
                !used.contains(name)
            else { continue }
            inspection.report(.unusedImage, at: identifier, allowed: "an imageIdentifier that names it")
        }
    }

    private static func checkPixels(
        of image: JSONValue, expected: ImageSize?, _ inspection: inout Inspection
    ) {
        guard let expected, let data = image["data"], let bytes = data.base64Bytes,
            let size = ImageSize(header: bytes), size != expected
        else { return }
        inspection.report(.imagePixels, at: data, found: "\(size) pixels", allowed: "\(expected) pixels")
    }

    /// Every `imageIdentifier` of a message of Apple's own kinds, with the size in which the image is displayed.
    private static func imageReferences(in value: JSONValue) -> [(JSONValue, ImageSize?)] {
        var found: [(JSONValue, ImageSize?)] = []
        func add(_ owner: JSONValue?, _ size: ImageSize?) {
            if let reference = owner?["imageIdentifier"] { found.append((reference, size)) }
        }
        for name in ["receivedMessage", "replyMessage"] {
            let isPayment = value["paymentRequest"] != nil && name == "receivedMessage"
            add(value[name], .of(style: isPayment ? "large" : value[name]?["style"]?.string))
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
