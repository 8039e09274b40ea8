import BalloonWire
import Testing

@Suite struct GzipTests {
    private let decompressor = GzipDecompressor()
    private let compressor = GzipCompressor()

    private func inflate(
        _ input: [UInt8], maximumBytes: Int = 10 << 20, maximumRatio: Int = 200
    ) throws(WireError) -> [UInt8] {
        var output: [UInt8] = [1, 2, 3]
        try decompressor.decompress(
            input, into: &output, maximumBytes: maximumBytes, maximumRatio: maximumRatio)
        return output
    }

    /// Text that shrinks to about a third, like messages do.
    private func text(bytes count: Int) -> [UInt8] {
        var state: UInt32 = 7
        return (0..<count).map { _ in
            state = state &* 1_664_525 &+ 1_013_904_223
            return UInt8(ascii: "a") + UInt8(state >> 28) % 6
        }
    }

    @Test(arguments: [0, 1, 2, 100, 511, 512, 513, 1600, 65_536, 1_000_000])
    func `compressed text decompresses to the original`(count: Int) throws {
        let plain = text(bytes: count)
        #expect(try inflate(compressor.compress(plain)) == plain)
    }

    // The output of `printf '{"id":"hello, gzip"}' | gzip -n`.
    @Test func `the output of gzip decompresses`() throws {
        let file = try Hex.decode(
            "1f8b0800000000000003ab56ca4c51b252ca48cdc9c9d75148afca2c50aa0500d61bad0214000000")
        #expect(try inflate(file) == Array(#"{"id":"hello, gzip"}"#.utf8))
    }

    @Test func `only gzip data is recognised by its magic bytes`() {
        func hasMagic(_ bytes: [UInt8]) -> Bool { Gzip.hasMagic(bytes) }
        #expect(hasMagic(compressor.compress([])))
        #expect(hasMagic([0x1f, 0x8b]))
        for other: [UInt8] in [[], [0x1f], [0x1f, 0x8c], [0x8b, 0x1f], Array("{}".utf8)] {
            #expect(!hasMagic(other))
        }
    }

    @Test func `decompressing replaces the previous output and reuses its storage`() throws {
        let file = compressor.compress(text(bytes: 1600))
        var output: [UInt8] = []
        try decompressor.decompress(file, into: &output, maximumBytes: 4096, maximumRatio: 100)
        let first = output.withUnsafeBufferPointer { $0.baseAddress }
        try decompressor.decompress(file, into: &output, maximumBytes: 4096, maximumRatio: 100)
        #expect(output == text(bytes: 1600))
        #expect(output.withUnsafeBufferPointer { $0.baseAddress } == first)
    }

    @Test func `a gzip file that is cut at any byte is refused as truncated`() {
        let file = compressor.compress(text(bytes: 300))
        for count in 0..<file.count {
            #expect(throws: WireError.gzipTruncated, "cut at \(count)") { try inflate(Array(file[..<count])) }
        }
    }

    @Test func `a failed decompression empties the output and does not affect the next call`() throws {
        let plain = text(bytes: 300)
        let file = compressor.compress(plain)
        var output: [UInt8] = []
        #expect(throws: WireError.gzipTruncated) {
            try decompressor.decompress(
                file.dropLast(), into: &output, maximumBytes: 4096, maximumRatio: 100)
        }
        #expect(output.isEmpty)
        #expect(try inflate(file) == plain)
    }

    @Test func `a gzip file with a wrong checksum or length is refused as malformed`() {
        let file = compressor.compress(text(bytes: 300))
        for fromEnd in 1...8 {
            var changed = file
            changed[file.count - fromEnd] ^= 1
            #expect(throws: WireError.gzipMalformed, "\(fromEnd) from the end") { try inflate(changed) }
        }
    }

    @Test func `a gzip file with a changed bit is refused, or decompresses to the same text`() {
        let plain = text(bytes: 300)
        let file = compressor.compress(plain)
        for index in file.indices {
            for bit in 0..<8 {
                var changed = file
                changed[index] ^= 1 << bit
                let result = try? inflate(changed)
                #expect(result == nil || result == plain, "bit \(bit) of byte \(index)")
            }
        }
    }

    @Test func `zlib's own format, bare deflate data and text are refused as malformed`() throws {
        let file = compressor.compress(text(bytes: 300))
        #expect(throws: WireError.gzipMalformed) { try inflate(Array(file[10..<file.count - 8])) }
        #expect(throws: WireError.gzipMalformed) {
            try inflate(Hex.decode("789c4b4c4a0600024d0127"))
        }
        #expect(throws: WireError.gzipMalformed) { try inflate(Array("{\"id\":1}".utf8)) }
        #expect(throws: WireError.gzipMalformed) { try inflate([0x1f, 0x8b, 7, 0, 0, 0, 0, 0, 0, 3]) }
    }

    // The flags FTEXT, FEXTRA, FNAME and FCOMMENT are optional; the reserved flags must be zero (RFC 1952
    // §2.3.1).
    @Test func `optional fields of a gzip header are skipped, and reserved flags are refused`() throws {
        let plain = text(bytes: 300)
        let file = compressor.compress(plain)
        let fields: [(flag: UInt8, bytes: [UInt8])] = [
            (0x01, []), (0x04, [3, 0, 9, 9, 9]), (0x08, [0x61, 0]), (0x10, [0x62, 0x63, 0]),
        ]
        for flags in UInt8(0)..<16 {
            let chosen = fields.enumerated().filter { flags >> UInt8($0.offset) & 1 == 1 }.map(\.element)
            let header = [0x1f, 0x8b, 8, chosen.reduce(0) { $0 | $1.flag }] + [UInt8](repeating: 0, count: 6)
            let changed = header + chosen.flatMap(\.bytes) + file[10...]
            #expect(try inflate(changed) == plain, "flags \(flags)")
        }
        for reserved: UInt8 in [0x20, 0x40, 0x80] {
            var changed = file
            changed[3] = reserved
            #expect(throws: WireError.gzipMalformed) { try inflate(changed) }
        }
    }

    @Test func `the members of a gzip file are joined to one result`() throws {
        let members = ["{\"a\":", "", "1", "}"].flatMap { compressor.compress($0.utf8) }
        #expect(try inflate(members) == Array("{\"a\":1}".utf8))
    }

    @Test(arguments: [[0], [0, 0], Array("{}".utf8), [0x1f], [0x1f, 0x00]])
    func `bytes after a gzip member that do not begin another member are refused`(rest: [UInt8]) {
        #expect(throws: WireError.gzipTrailingData) {
            try inflate(compressor.compress("{}".utf8) + rest)
        }
    }

    @Test func `a second gzip member that is cut or broken is refused`() {
        let member = compressor.compress("{}".utf8)
        #expect(throws: WireError.gzipTruncated) { try inflate(member + member.dropLast()) }
        #expect(throws: WireError.gzipMalformed) { try inflate(member + [0x1f, 0x8b, 7, 0]) }
    }

    @Test func `a decompressed text of exactly the limit is accepted, one more byte is refused`() throws {
        for count in [1, 600, 70_000] {
            let plain = text(bytes: count)
            let file = compressor.compress(plain)
            #expect(try inflate(file, maximumBytes: count) == plain)
            #expect(throws: WireError.gzipTooLarge(maximumBytes: count - 1)) {
                try inflate(file, maximumBytes: count - 1)
            }
        }
    }

    @Test func `all members of a gzip file share one limit`() {
        let member = compressor.compress(text(bytes: 600))
        #expect(throws: WireError.gzipTooLarge(maximumBytes: 1199)) {
            try inflate(member + member, maximumBytes: 1199)
        }
        #expect(throws: Never.self) { try inflate(member + member, maximumBytes: 1200) }
    }

    @Test func `a decompression bomb is refused before it uses memory beyond the ratio`() {
        let bomb = compressor.compress([UInt8](repeating: 0, count: 50 << 20))
        var output: [UInt8] = []
        #expect(throws: WireError.gzipTooLarge(maximumBytes: bomb.count * 20)) {
            try decompressor.decompress(bomb, into: &output, maximumBytes: 100 << 20, maximumRatio: 20)
        }
        #expect(output.capacity < bomb.count * 20 * 2)
        #expect(throws: WireError.gzipTooLarge(maximumBytes: 10 << 20)) {
            try inflate(bomb, maximumBytes: 10 << 20, maximumRatio: 2000)
        }
    }

    @Test func `the compression ratio is limited only above 64 KiB`() throws {
        let spaces = [UInt8](repeating: 0x20, count: 64 << 10)
        #expect(try inflate(compressor.compress(spaces), maximumRatio: 2) == spaces)
        #expect(throws: WireError.gzipTooLarge(maximumBytes: 64 << 10)) {
            try inflate(compressor.compress((spaces + [0x20])), maximumRatio: 2)
        }
    }

    @Test func `the length that a gzip file claims allocates no memory, and is verified`() {
        var file = compressor.compress("{}".utf8)
        for index in 1...4 { file[file.count - index] = 0xff }
        var output: [UInt8] = []
        #expect(throws: WireError.gzipMalformed) {
            try decompressor.decompress(file, into: &output, maximumBytes: 1 << 30, maximumRatio: 1000)
        }
        #expect(output.capacity < 4096)
    }

    @Test func `decompressing works with the largest possible limits`() throws {
        let plain = text(bytes: 300)
        #expect(try inflate(compressor.compress(plain), maximumBytes: .max, maximumRatio: .max) == plain)
    }

    @Test func `a decompressor of zlib data refuses gzip, damage and data behind the end`() throws {
        let zlib: [UInt8] = [0x78, 0x9C, 0x4B, 0x4C, 0x4A, 0x06, 0x00, 0x02, 0x4D, 0x01, 0x27]
        let decompressor = GzipDecompressor(.zlib)
        var output: [UInt8] = []
        try decompressor.decompress(zlib, into: &output, maximumBytes: 3, maximumRatio: .max)
        #expect(output == Array("abc".utf8))
        let gzip = compressor.compress(output)
        for damaged: [UInt8] in [gzip, Array(zlib.dropLast()), zlib + [0], [0x78, 0x9C, 0xFF]] {
            #expect(throws: WireError.self) {
                try decompressor.decompress(damaged, into: &output, maximumBytes: 100, maximumRatio: .max)
            }
        }
        #expect(throws: WireError.self) { try inflate(zlib) }
    }
}
