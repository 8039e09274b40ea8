import BalloonJSON
import BalloonPOSIX
import BalloonWire
import Testing

/// Signatures of Project Wycheproof, from a file that the environment names; `scripts/wycheproof` runs this.
///
/// The file is not part of this repository, which has vectors of its own.
struct WycheproofTests {
    private static let path = ProcessEnvironment.variables()["BALLOON_WYCHEPROOF"]

    @Test(.enabled(if: path != nil, "run scripts/wycheproof FILE"))
    func `each signature of r and s on P-256 is judged as Wycheproof does`() throws {
        let path = try #require(Self.path)
        let root = try JSONDocument(File(path, for: .reading).readAll()).root
        try #require(root["schema"]?.string == "ecdsa_p1363_verify_schema_v1.json")
        var (valid, invalid) = (0, 0)
        for group in try #require(root["testGroups"]).elements {
            let point = try #require(bytes(group["publicKey"]?["uncompressed"]))
            try #require(point.count == 65)
            let key = try PublicKey(x: Array(point[1..<33]), y: Array(point[33...]))
            for test in try #require(group["tests"]).elements {
                let message = try #require(bytes(test["msg"]))
                let signature = try #require(bytes(test["sig"]))
                let isValid = test["result"]?.string == "valid"
                let label = "\(test["tcId"]?.int ?? 0): \(test["comment"]?.string ?? "")"
                #expect(key.isValid(signature: signature, of: message) == isValid, "\(label)")
                if isValid { valid += 1 } else { invalid += 1 }
            }
        }
        #expect(valid + invalid == root["numberOfTests"]?.int)
        #expect(valid > 0 && invalid > 0)
        print("wycheproof: \(valid) valid and \(invalid) invalid signatures judged")
    }

    private func bytes(_ value: JSONValue?) -> [UInt8]? {
        guard let text = value?.string, text.utf8.count.isMultiple(of: 2) else { return nil }
        let digits = text.compactMap(\.hexDigitValue)
        guard digits.count == text.utf8.count else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
    }
}
