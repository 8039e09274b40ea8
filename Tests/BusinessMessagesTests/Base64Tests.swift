import Testing

@testable import BusinessMessages

struct Base64Tests {
    // RFC 4648 §10.
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"), ("ÿþ÷¾", "w7/DvsO3wr4="),
    ])
    func `the vectors of RFC 4648 go both ways`(plain: String, encoded: String) {
        #expect(text(Base64.encode(Array(plain.utf8))) == encoded)
        #expect(Base64.decode(encoded.utf8) == Array(plain.utf8))
    }

    @Test(arguments: [
        "Z", "Zg", "Zg=", "Zh==", "Zm9=", "Z===", "====", "Zg==Zg==", "Zm9v\n", "Zm9_", "Z=9v", "Zm9vYg=a",
    ])
    func `what is not Base64 is refused`(encoded: String) {
        #expect(Base64.decode(encoded.utf8) == nil)
    }
}
