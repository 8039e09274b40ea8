import BusinessMessages

/// A logo file, measured.
enum LogoImage {
    static let smallestSide = 1024
    static let maximumBytes = 2 << 20
    static let smallestMargin = 10
    static let smallestContrast = 4.5

    /// The faults of a logo, each as the end of a sentence that begins with the file's name.
    static func faults(of bytes: [UInt8]) -> [String] {
        var faults: [String] = []
        if bytes.count > maximumBytes {
            faults.append("has \(bytes.count) bytes; Apple accepts at most 2 MB.")
        }
        guard let size = ImageSize(header: bytes) else { return faults + ["is neither PNG nor JPEG."] }
        if size.width != size.height { faults.append("has \(size) pixels, and is not square.") }
        if min(size.width, size.height) < smallestSide {
            faults.append("has \(size) pixels; Apple wants at least \(smallestSide).")
        }
        if hasAlpha(bytes) { faults.append("has an alpha channel; the logo must be opaque.") }
        guard let pixels = PNGPixels(bytes) else { return faults }
        if pixels.marginPercent < smallestMargin {
            faults.append("has a margin of \(pixels.marginPercent) %; Apple wants \(smallestMargin) %.")
        }
        if pixels.contrast < smallestContrast {
            faults.append(
                "has a contrast of \((pixels.contrast * 10).rounded() / 10):1; Apple wants at least \(smallestContrast):1."
            )
        }
        return faults
    }

    /// Whether margin and contrast can be measured.
    static func isMeasured(_ bytes: [UInt8]) -> Bool { PNGPixels(bytes) != nil }

    /// Whether a PNG file can be transparent: its color type has alpha, or it has the chunk `tRNS` (W3C PNG §11.2.1, §11.3.1).
    private static func hasAlpha(_ bytes: [UInt8]) -> Bool {
        guard bytes.count > 33, bytes[0] == 0x89 else { return false }
        if bytes[25] == 4 || bytes[25] == 6 { return true }
        var position = 8
        while position + 12 <= bytes.count {
            let name = bytes[(position + 4)..<(position + 8)]
            if name.elementsEqual("tRNS".utf8) { return true }
            if name.elementsEqual("IDAT".utf8) { return false }
            position &+= 12 &+ bytes[position..<(position + 4)].reduce(0) { $0 << 8 | Int($1) }
        }
        return false
    }
}
