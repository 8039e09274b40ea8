import Testing

@testable import Review

@Suite struct LogoImageTests {
    /// A grey PNG file with a square of another grey in its middle, whose data is stored without compression.
    private static func png(
        side: Int, margin: Int, outside: UInt8 = 255, inside: UInt8 = 0, colorType: UInt8 = 0
    ) -> [UInt8] {
        var rows: [UInt8] = []
        for y in 0..<side {
            rows.append(0)
            for x in 0..<side {
                let isInside = min(x, y, side - 1 - x, side - 1 - y) >= margin
                rows += [UInt8](repeating: isInside ? inside : outside, count: colorType == 4 ? 2 : 1)
            }
        }
        var zlib: [UInt8] = [0x78, 1]
        for start in stride(from: 0, to: rows.count, by: 65535) {
            let part = rows[start..<min(rows.count, start + 65535)]
            let isLast = part.endIndex == rows.count
            zlib += [isLast ? 1 : 0, UInt8(part.count & 255), UInt8(part.count >> 8)]
            zlib += [UInt8(~part.count & 255), UInt8(~part.count >> 8 & 255)] + part
        }
        var (low, high) = (1, 0)
        for byte in rows {
            low = (low + Int(byte)) % 65521
            high = (high + low) % 65521
        }
        zlib += [UInt8(high >> 8), UInt8(high & 255), UInt8(low >> 8), UInt8(low & 255)]
        func number(_ value: Int) -> [UInt8] { [24, 16, 8, 0].map { UInt8(value >> $0 & 255) } }
        func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
            number(content.count) + Array(name.utf8) + content + [0, 0, 0, 0]
        }
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
            + chunk("IHDR", number(side) + number(side) + [8, colorType, 0, 0, 0]) + chunk("IDAT", zlib)
            + chunk("IEND", [])
    }

    private static func findings(_ bytes: [UInt8]?) -> [String] {
        var brief = Brief()
        brief.logos = [Brief.Logo(file: "logo.png")]
        var evidence = Evidence(brief, ReviewedBusiness(name: "Fish"), [])
        evidence.files["logo.png"] = bytes
        return Judges.logos(evidence).map { "\($0.verdict.rawValue): \($0.words)" }
    }

    @Test func `a square, opaque logo with a margin and contrast has no finding`() {
        #expect(Self.findings(Self.png(side: 1024, margin: 110)) == [])
    }

    @Test func `each fault of a logo is named`() {
        let small = Self.findings(Self.png(side: 512, margin: 60))
        #expect(small == ["objection: logo.png has 512 x 512 pixels; Apple wants at least 1024."])
        #expect(Self.findings(Self.png(side: 1024, margin: 20)).contains { $0.contains("a margin of 1 %") })
        #expect(
            Self.findings(Self.png(side: 1024, margin: 110, outside: 255, inside: 200)).contains {
                $0.contains("contrast of 1.")
            })
        #expect(
            Self.findings(Self.png(side: 1024, margin: 110, colorType: 4)).contains {
                $0.contains("alpha channel")
            })
        #expect(Self.findings(Array("GIF89a".utf8)).contains { $0.contains("neither PNG nor JPEG") })
        #expect(Self.findings(nil) == ["objection: logo.png cannot be read."])
        let large = Self.findings(Self.png(side: 1024, margin: 110) + [UInt8](repeating: 0, count: 2 << 20))
        #expect(large.contains { $0.contains("at most 2 MB") })
    }

    @Test func `damaged data ends without a trap`() throws {
        let png = Self.png(side: 40, margin: 5)
        for place in png.indices {
            var damaged = png
            damaged[place] ^= 255
            _ = LogoImage.faults(of: damaged)
        }
    }
}
