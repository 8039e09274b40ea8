import BalloonWire
import Testing

@Suite struct SecretTests {
    // A private type is printed with an address, whose digits may be those of a leaked byte.
    struct Owner {
        let name = "business"
        let secret: Secret
    }

    @Test func `printing a secret never shows its bytes`() throws {
        let secret = try Secret(base64: "c2VjcmV0")
        let owner = Owner(secret: secret)
        var dumped = ""
        dump(owner, to: &dumped)
        var dumpedAlone = ""
        dump(secret, to: &dumpedAlone)
        let texts = [
            "\(secret)", "\(owner)", "\([secret])", String(reflecting: secret), String(reflecting: owner),
            dumped, dumpedAlone,
        ]
        for text in texts {
            #expect(text.contains("********"))
            for leak in ["115", "101", "c2Vj", "secret\"", "bytes"] { #expect(!text.contains(leak)) }
        }
    }

    @Test func `white space around a Base64 secret is ignored`() throws {
        #expect(try Secret(base64: " \tc2VjcmV0\r\n").bytes == Array("secret".utf8))
    }

    @Test(arguments: ["", " \n", "c2Vj cmV0", "c2VjcmV", "not base64!"])
    func `text that is not the Base64 of a secret is refused`(text: String) {
        #expect(throws: WireError.self) { try Secret(base64: text) }
    }

    @Test func `an empty secret is refused`() {
        #expect(throws: WireError.secretEmpty) { try Secret([]) }
        #expect(throws: WireError.secretEmpty) { try Secret(base64: "\n") }
    }

    @Test func `two secrets are equal when all their bytes are equal`() throws {
        #expect(try Secret([1, 2, 3]) == Secret([1, 2, 3]))
        #expect(try Secret([1, 2, 3]) != Secret([1, 2, 4]))
        #expect(try Secret([1, 2, 3]) != Secret([1, 2]))
    }

    @Test func `the constant-time comparison finds equal and different bytes`() {
        func equals(_ left: [UInt8], _ right: [UInt8]) -> Bool { constantTimeEquals(left, right) }
        #expect(equals([], []))
        #expect(equals([1, 2], [1, 2]))
        #expect(!equals([1, 2], [2, 2]))
        #expect(!equals([1, 2], [1, 2, 3]))
    }

    @Test func `random bytes have the requested count and differ`() {
        #expect(randomBytes(0) == [])
        #expect(randomBytes(32).count == 32)
        #expect(randomBytes(32) != randomBytes(32))
        #expect(Secret.random(byteCount: 32) != Secret.random(byteCount: 32))
    }
}
