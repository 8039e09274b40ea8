import BalloonJSON
import Testing

@Suite struct Base64Tests {
    // The test vectors of RFC 4648 §10, and one text with bytes above ASCII.
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"), ("ÿþ÷¾", "w7/DvsO3wr4="),
    ])
    func `the test vectors of RFC 4648 are encoded and decoded`(plain: String, text: String) {
        #expect(Base64.encode(plain.utf8) == text)
        #expect(Base64.decode(text) == Array(plain.utf8))
        let unpadded = String(text.filter { $0 != "=" }.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
        #expect(Base64.encode(plain.utf8, alphabet: .url) == unpadded)
        #expect(Base64.decode(unpadded, alphabet: .url) == Array(plain.utf8))
    }

    @Test(arguments: [Base64.Alphabet.standard, .url])
    func `every byte at every position is unchanged after encoding and decoding`(alphabet: Base64.Alphabet) {
        for length in 1...4 {
            for byte in UInt8.min...UInt8.max {
                let bytes = [UInt8](repeating: byte, count: length)
                #expect(
                    Base64.decode(Base64.encode(bytes, alphabet: alphabet), alphabet: alphabet)
                        == bytes)
            }
        }
    }

    @Test func `the alphabets differ in two characters`() {
        let bytes: [UInt8] = [0xfb, 0xef, 0xff]
        #expect(Base64.encode(bytes) == "++//")
        #expect(Base64.encode(bytes, alphabet: .url) == "--__")
    }

    @Test(arguments: [
        "Zg", "Zg=", "Zg===", "Z", "=", "====", "Zm9v=", "Zg==Zg==", "Z=g=", "Zm9v\n", " Zm9v", "Zm-v",
        "Zm_v", "Zh==",
        "Zm9=", "Zmé=", "Zm9v\0\0\0\0",
    ])
    func `text that is not canonical Base64 is refused`(text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test(arguments: ["Zg==", "Zm8=", "Z", "Zm9vZ", "Zm+v", "Zm/v", "Zh", "Zm9", "Zm 9v"])
    func `text that is not canonical Base64url is refused`(text: String) {
        #expect(Base64.decode(text, alphabet: .url) == nil)
    }
}
