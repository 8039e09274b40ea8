/// Decompresses the zlib data of a PNG file (RFC 1950, RFC 1951).
///
/// Unlike `GzipDecompressor` of the server it works on a file of the command's user, in a target without C.
struct Inflate {
    private let input: [UInt8]
    private let maximumBytes: Int
    private var position: Int
    private var (bits, bitCount): (UInt32, Int) = (0, 0)
    private var output: [UInt8] = []

    /// A malformed input, or one whose content is too long.
    private struct Malformed: Error {}

    /// The content of zlib data; nil when it is malformed or longer than `maximumBytes`.
    static func content(of zlib: [UInt8], maximumBytes: Int) -> [UInt8]? {
        // The first two bytes are the head (RFC 1950 §2.2); the checksum at the end is not needed for measuring.
        guard zlib.count > 2, zlib[0] & 15 == 8 else { return nil }
        var inflate = Inflate(input: zlib, maximumBytes: maximumBytes, position: 2)
        do throws(Malformed) { try inflate.run() } catch { return nil }
        return inflate.output
    }

    private init(input: [UInt8], maximumBytes: Int, position: Int) {
        (self.input, self.maximumBytes, self.position) = (input, maximumBytes, position)
    }

    private mutating func run() throws(Malformed) {
        var isLast = false
        while !isLast {
            isLast = try take(1) == 1
            switch try take(2) {
            case 0: try copyStored()
            case 1: try decode(Self.fixedLengths, Self.fixedDistances)
            case 2: try decodeDynamic()
            default: throw Malformed()
            }
        }
    }

    private mutating func take(_ count: Int) throws(Malformed) -> Int {
        while bitCount < count {
            guard position < input.count else { throw Malformed() }
            bits |= UInt32(input[position]) << UInt32(bitCount)
            position += 1
            bitCount += 8
        }
        let value = Int(bits & ((1 << UInt32(count)) - 1))
        bits >>= UInt32(count)
        bitCount -= count
        return value
    }

    private mutating func append(_ byte: UInt8) throws(Malformed) {
        guard output.count < maximumBytes else { throw Malformed() }
        output.append(byte)
    }

    private mutating func copyStored() throws(Malformed) {
        (bits, bitCount) = (0, 0)
        guard position + 4 <= input.count else { throw Malformed() }
        let length = Int(input[position]) | Int(input[position + 1]) << 8
        position += 4
        guard position + length <= input.count else { throw Malformed() }
        for byte in input[position..<(position + length)] { try append(byte) }
        position += length
    }

    /// A code of RFC 1951 §3.2.2: how many codes have each length, and the symbols in the order of their codes.
    private struct Code {
        var counts = [Int](repeating: 0, count: 16)
        var symbols: [Int] = []

        init(_ lengths: [Int]) {
            for length in lengths where length > 0 { counts[length] += 1 }
            for length in 1...15 { symbols += lengths.indices.filter { lengths[$0] == length } }
        }
    }

    private mutating func symbol(of code: Code) throws(Malformed) -> Int {
        var (value, first, index) = (0, 0, 0)
        for length in 1...15 {
            value |= try take(1)
            let count = code.counts[length]
            if value - first < count {
                let place = index + value - first
                guard code.symbols.indices.contains(place) else { throw Malformed() }
                return code.symbols[place]
            }
            index += count
            first = (first + count) << 1
            value <<= 1
        }
        throw Malformed()
    }

    private static let fixedLengths = Code(
        [Int](repeating: 8, count: 144) + [Int](repeating: 9, count: 112) + [Int](repeating: 7, count: 24)
            + [Int](repeating: 8, count: 8))
    private static let fixedDistances = Code([Int](repeating: 5, count: 30))
    /// The order of RFC 1951 §3.2.7.
    private static let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

    private mutating func decodeDynamic() throws(Malformed) {
        let (literals, distances, count) = (try take(5) + 257, try take(5) + 1, try take(4) + 4)
        var lengths = [Int](repeating: 0, count: 19)
        for place in Self.order.prefix(count) { lengths[place] = try take(3) }
        let code = Code(lengths)
        var all: [Int] = []
        while all.count < literals + distances {
            let symbol = try symbol(of: code)
            switch symbol {
            case 16:
                guard let last = all.last else { throw Malformed() }
                all += [Int](repeating: last, count: try take(2) + 3)
            case 17: all += [Int](repeating: 0, count: try take(3) + 3)
            case 18: all += [Int](repeating: 0, count: try take(7) + 11)
            default: all.append(symbol)
            }
        }
        guard all.count == literals + distances else { throw Malformed() }
        try decode(Code(Array(all[..<literals])), Code(Array(all[literals...])))
    }

    private static let lengthBases = [
        3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163,
        195, 227, 258,
    ]
    private static let lengthBits = [
        0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
    ]
    private static let distanceBases = [
        1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073,
        4097, 6145,
        8193, 12289, 16385, 24577,
    ]

    private mutating func decode(_ literals: Code, _ distances: Code) throws(Malformed) {
        while true {
            let symbol = try symbol(of: literals)
            if symbol < 256 {
                try append(UInt8(symbol))
                continue
            }
            if symbol == 256 { return }
            guard symbol < 286 else { throw Malformed() }
            let length = Self.lengthBases[symbol - 257] + (try take(Self.lengthBits[symbol - 257]))
            let place = try self.symbol(of: distances)
            guard place < 30 else { throw Malformed() }
            let distance = Self.distanceBases[place] + (try take(max(0, place / 2 - 1)))
            guard distance <= output.count else { throw Malformed() }
            for _ in 0..<length { try append(output[output.count - distance]) }
        }
    }
}
