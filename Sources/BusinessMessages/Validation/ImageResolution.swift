/// The resolution that a PNG or JPEG file names, in dots per inch; nil when it names none.
///
/// Apple asks for images at 72 dpi; the caller accepts a file that names no resolution.
func imageResolution(of bytes: [UInt8]) -> Double? {
    pngResolution(of: bytes) ?? jpegResolution(of: bytes)
}

/// The resolution of a PNG file, from its chunk `pHYs`; nil when it has none or the file is no PNG.
///
/// The chunk has the pixels per metre and comes before the pixels (W3C PNG §11.3.4.3).
private func pngResolution(of bytes: [UInt8]) -> Double? {
    guard bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) else { return nil }
    var position = 8
    while position + 8 <= bytes.count {
        let name = bytes[(position + 4)..<(position + 8)]
        if name.elementsEqual("IDAT".utf8) { return nil }
        if name.elementsEqual("pHYs".utf8) {
            guard position + 17 <= bytes.count, bytes[position + 16] == 1 else { return nil }
            return Double(bytes.number(at: position + 8, bytes: 4)) * 0.0254
        }
        // Skip the chunk: 4 bytes each for its length, its name and its checksum, and the data.
        position += 12 + bytes.number(at: position, bytes: 4)
    }
    return nil
}

/// The resolution of a JPEG file, from its segment `JFIF`; nil when it has none or the file is no JPEG.
///
/// The segment follows the start of the image (ITU T.871 §10.1).
private func jpegResolution(of bytes: [UInt8]) -> Double? {
    guard bytes.count >= 18, bytes.starts(with: [0xFF, 0xD8, 0xFF, 0xE0]),
        bytes[6..<11].elementsEqual("JFIF\0".utf8)
    else { return nil }
    let density = Double(bytes.number(at: 14, bytes: 2))
    switch bytes[13] {
    case 1: return density
    case 2: return density * 2.54
    default: return nil
    }
}
