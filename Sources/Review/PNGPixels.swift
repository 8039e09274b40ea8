import BalloonWire

/// The colors of a PNG file with 8 bits for each sample and without interlace (W3C PNG).
struct PNGPixels {
    let width: Int
    let height: Int
    /// Red, green and blue of each pixel, row by row.
    private let colors: [UInt8]

    private static let maximumSide = 4096

    /// Reads a file; nil for a file of another form.
    init?(_ bytes: [UInt8]) {
        guard bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]), bytes.count > 33,
            bytes[24] == 8, bytes[28] == 0, let channels = [0: 1, 2: 3, 3: 1, 4: 2, 6: 4][bytes[25]]
        else { return nil }
        let number = { (place: Int) in bytes[place..<(place + 4)].reduce(0) { $0 << 8 | Int($1) } }
        let (width, height) = (number(16), number(20))
        guard (1...Self.maximumSide).contains(width), (1...Self.maximumSide).contains(height) else {
            return nil
        }
        (self.width, self.height) = (width, height)
        var (data, palette, position): ([UInt8], [UInt8], Int) = ([], [], 8)
        while position + 12 <= bytes.count {
            let length = number(position)
            guard length <= bytes.count - position - 12 else { return nil }
            let content = bytes[(position + 8)..<(position + 8 + length)]
            switch String(decoding: bytes[(position + 4)..<(position + 8)], as: UTF8.self) {
            case "IDAT": data += content
            case "PLTE": palette = Array(content)
            default: break
            }
            position += 12 + length
        }
        let stride = width * channels
        var rows: [UInt8] = []
        // Damaged data is a file of another form.
        try? GzipDecompressor(.zlib).decompress(
            data, into: &rows, maximumBytes: (stride + 1) * height, maximumRatio: .max)
        guard rows.count == (stride + 1) * height,
            let samples = Self.unfiltered(rows, stride: stride, channels: channels)
        else { return nil }
        var colors: [UInt8] = []
        colors.reserveCapacity(width * height * 3)
        for pixel in Swift.stride(from: 0, to: samples.count, by: channels) {
            if bytes[25] == 3 {
                let place = Int(samples[pixel]) * 3
                guard place + 3 <= palette.count else { return nil }
                colors += palette[place..<(place + 3)]
            } else if channels < 3 {
                colors += [samples[pixel], samples[pixel], samples[pixel]]
            } else {
                colors += samples[pixel..<(pixel + 3)]
            }
        }
        self.colors = colors
    }

    /// Reverses the filter of each row (W3C PNG §9.2); nil for an unknown filter.
    private static func unfiltered(_ rows: [UInt8], stride: Int, channels: Int) -> [UInt8]? {
        var result = [UInt8](repeating: 0, count: rows.count / (stride + 1) * stride)
        for row in 0..<(rows.count / (stride + 1)) {
            let (from, to) = (row * (stride + 1) + 1, row * stride)
            let filter = rows[from - 1]
            for column in 0..<stride {
                let left = column >= channels ? result[to + column - channels] : 0
                let up = row > 0 ? result[to - stride + column] : 0
                let corner = row > 0 && column >= channels ? result[to - stride + column - channels] : 0
                let predicted: UInt8
                switch filter {
                case 0: predicted = 0
                case 1: predicted = left
                case 2: predicted = up
                case 3: predicted = UInt8((Int(left) + Int(up)) / 2)
                case 4: predicted = paeth(Int(left), Int(up), Int(corner))
                default: return nil
                }
                result[to + column] = rows[from + column] &+ predicted
            }
        }
        return result
    }

    private static func paeth(_ left: Int, _ up: Int, _ corner: Int) -> UInt8 {
        let estimate = left + up - corner
        let (a, b, c) = (abs(estimate - left), abs(estimate - up), abs(estimate - corner))
        return UInt8(a <= b && a <= c ? left : b <= c ? up : corner)
    }

    private func color(_ x: Int, _ y: Int) -> ArraySlice<UInt8> {
        let place = (y * width + x) * 3
        return colors[place..<(place + 3)]
    }

    /// The share of the side that the picture leaves free at its narrowest edge, in percent; colors close to that of the
    /// corner count as free.
    var marginPercent: Int {
        let corner = color(0, 0)
        var (left, top, right, bottom) = (width, height, width, height)
        for y in 0..<height {
            for x in 0..<width where zip(color(x, y), corner).contains(where: { abs(Int($0) - Int($1)) > 24 })
            {
                (left, top) = (min(left, x), min(top, y))
                (right, bottom) = (min(right, width - 1 - x), min(bottom, height - 1 - y))
            }
        }
        return min(left * 100 / width, right * 100 / width, top * 100 / height, bottom * 100 / height)
    }

    /// The largest contrast between the corner and another pixel (WCAG 2.1, "contrast ratio"): 1 to 21.
    var contrast: Double {
        let corner = Self.luminance(color(0, 0))
        var (lowest, highest) = (corner, corner)
        for y in stride(from: 0, to: height, by: 4) {
            for x in stride(from: 0, to: width, by: 4) {
                let value = Self.luminance(color(x, y))
                (lowest, highest) = (min(lowest, value), max(highest, value))
            }
        }
        return max((highest + 0.05) / (corner + 0.05), (corner + 0.05) / (lowest + 0.05))
    }

    private static func luminance(_ color: ArraySlice<UInt8>) -> Double {
        zip(color, [0.2126, 0.7152, 0.0722]).reduce(0) { sum, part in sum + linear[Int(part.0)] * part.1 }
    }

    /// The linear value of each sample, by the square that approximates the curve of sRGB.
    private static let linear = (0...255).map { value in
        let share = Double(value) / 255
        return share <= 0.04045 ? share / 12.92 : share * share * (0.15 * share + 0.85)
    }
}
