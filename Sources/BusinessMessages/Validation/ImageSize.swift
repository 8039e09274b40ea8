/// The width and height of an image in pixels.
package struct ImageSize: Equatable, Sendable {
    /// The width.
    package let width: Int
    /// The height.
    package let height: Int

    /// The size of a list item's image: 60 x 60 points, with 3 pixels for each point.
    static let listItem = ImageSize(width: 180, height: 180)
    /// The size of a time picker's image: 375 x 208 points, with 3 pixels for each point.
    static let event = ImageSize(width: 1125, height: 624)

    /// Returns the image size for a bubble style.
    static func of(style: OutboundBubble.Style) -> ImageSize {
        switch style {
        case .icon: ImageSize(width: 120, height: 120)
        case .small: ImageSize(width: 180, height: 180)
        case .large: ImageSize(width: 789, height: 450)
        }
    }

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    /// Reads the header of a PNG or JPEG file; `nil` for other files.
    package init?(header bytes: [UInt8]) {
        guard let size = ImageSize(png: bytes) ?? ImageSize(jpeg: bytes) else { return nil }
        self = size
    }

    /// Reads the size of a PNG file from its first chunk, `IHDR` (W3C PNG §11.2.1); nil for other files.
    private init?(png bytes: [UInt8]) {
        let start: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        guard bytes.count >= 24, bytes.starts(with: start), bytes[12..<16].elementsEqual("IHDR".utf8) else {
            return nil
        }
        width = bytes.number(at: 16, bytes: 4)
        height = bytes.number(at: 20, bytes: 4)
    }

    /// Reads the size of a JPEG file; nil for other files.
    ///
    /// The size is in the frame header, which any number of other segments precede (ITU T.81 §B.2.2).
    private init?(jpeg bytes: [UInt8]) {
        guard bytes.starts(with: [0xFF, 0xD8]) else { return nil }
        var position = 2
        while position + 9 <= bytes.count, bytes[position] == 0xFF {
            let marker = bytes[position + 1]
            if marker == 0xFF {
                position += 1
                continue
            }
            let isFrame = (0xC0...0xCF).contains(marker) && ![0xC4, 0xC8, 0xCC].contains(marker)
            if isFrame {
                height = bytes.number(at: position + 5, bytes: 2)
                width = bytes.number(at: position + 7, bytes: 2)
                return
            }
            position += 2 + bytes.number(at: position + 2, bytes: 2)
        }
        return nil
    }
}

extension ImageSize: CustomStringConvertible {
    package var description: String { "\(width) x \(height)" }
}

extension [UInt8] {
    /// Reads `count` bytes at `position` as an unsigned number in network byte order.
    func number(at position: Int, bytes count: Int) -> Int {
        self[position..<(position + count)].reduce(0) { $0 << 8 | Int($1) }
    }
}
