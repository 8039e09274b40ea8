/// The two sizes of images at the App Store; the raw value is the parameter `imageSize` of an upload.
public enum RetentionImageSize: String, Sendable, Hashable, CaseIterable {
    /// The image of a message: 3,840 pixels wide and 160 to 2,160 high.
    case full = "FULL_SIZE"
    /// The image of a bullet point: 1,024 × 1,024 pixels.
    case bulletPoint = "BULLET_POINT"
}

/// The properties of a PNG file to which the App Store's rules apply.
public struct RetentionImage: Hashable, Sendable {
    /// The width in pixels.
    public let width: Int
    /// The height in pixels.
    public let height: Int
    /// Whether pixels may be transparent: the file has an alpha channel, or a chunk `tRNS`.
    public let isTransparent: Bool

    /// Reads the chunks before the pixels of a PNG file (W3C PNG, third edition, §5 and §11); nil for every other file.
    ///
    /// The pixels are not read, so a file with damaged pixels is not detected.
    public init?(png bytes: [UInt8]) {
        let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        guard bytes.starts(with: signature),
            let header = Chunk(bytes, at: signature.count), header.type == Array("IHDR".utf8),
            header.content.count == 13
        else { return nil }
        let start = header.content.lowerBound
        width = Self.number(bytes, at: start)
        height = Self.number(bytes, at: start + 4)
        guard width > 0, height > 0 else { return nil }
        // §11.2.1: colour types 4 and 6 have an alpha channel.
        var isTransparent = bytes[start + 9] & 4 != 0
        var position = header.next
        while true {
            guard let chunk = Chunk(bytes, at: position) else { return nil }
            if chunk.type == Array("IDAT".utf8) { break }
            if chunk.type == Array("tRNS".utf8) { isTransparent = true }
            position = chunk.next
        }
        self.isTransparent = isTransparent
    }

    /// The size category at the App Store that has this width and height; nil when there is none.
    public var size: RetentionImageSize? {
        if width == RetentionLimits.bulletSide, height == RetentionLimits.bulletSide { return .bulletPoint }
        return width == RetentionLimits.fullWidth && RetentionLimits.fullHeights.contains(height)
            ? .full : nil
    }

    /// All problems for which the App Store would refuse the file.
    public static func problems(in bytes: [UInt8]) -> [RetentionProblem] {
        guard let image = RetentionImage(png: bytes) else {
            return [problem(.imageFormat, found: "no PNG file", allowed: "PNG")]
        }
        var problems: [RetentionProblem] = []
        if image.isTransparent {
            problems.append(problem(.imageTransparency, found: "transparency", allowed: "opaque pixels only"))
        }
        if image.size == nil {
            problems.append(
                problem(
                    .imageSize, found: "\(image.width) × \(image.height) pixels",
                    allowed: "3840 × 160 to 2160, or 1024 × 1024 for a bullet point"))
        }
        return problems
    }

    private static func problem(_ rule: RetentionRule, found: String, allowed: String) -> RetentionProblem {
        RetentionProblem(
            rule: rule, severity: .error, pointer: "", line: 1, column: 1, found: found, allowed: allowed)
    }

    fileprivate static func number(_ bytes: [UInt8], at position: Int) -> Int {
        bytes[position..<position + 4].reduce(0) { $0 << 8 | Int($1) }
    }
}

/// A chunk of a PNG file: four bytes of length, four of type, the content, and four of checksum.
private struct Chunk {
    let type: [UInt8]
    let content: Range<Int>
    var next: Int { content.upperBound + 4 }

    init?(_ bytes: [UInt8], at position: Int) {
        guard bytes.count - position >= 12 else { return nil }
        let count = RetentionImage.number(bytes, at: position)
        guard count <= bytes.count - position - 12 else { return nil }
        type = Array(bytes[position + 4..<position + 8])
        content = position + 8..<position + 8 + count
    }
}
