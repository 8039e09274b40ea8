import BalloonWire
import Testing

@Suite struct HexTests {
    @Test func `every byte is encoded in lower case and decoded from either case`() throws {
        let bytes = Array(UInt8.min...UInt8.max)
        let text = Hex.encode(bytes)
        #expect(text.hasPrefix("000102") && text.hasSuffix("fdfeff"))
        #expect(try Hex.decode(text) == bytes)
        #expect(try Hex.decode(text.uppercased()) == bytes)
    }

    @Test func `empty input is encoded and decoded to empty output`() throws {
        #expect(Hex.encode([]) == "")
        #expect(try Hex.decode("") == [])
    }

    @Test(arguments: ["0", "012", "0g", "g0", "/0", ":0", "@0", "`0", " 00", "0x00", "é"])
    func `text other than pairs of hexadecimal digits is refused`(text: String) {
        #expect(throws: WireError.hexMalformed) { try Hex.decode(text) }
    }
}
