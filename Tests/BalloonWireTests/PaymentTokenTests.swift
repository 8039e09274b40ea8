import BalloonJSON
import TestSupport
import Testing

@testable import BalloonWire

struct PaymentTokenTests {
    private static let merchant = "merchant.com.example.msp"
    private static let now = 1_800_000_000
    private static let plain =
        #"{"applicationPrimaryAccountNumber":"4111111111111111","currencyCode":"840","transactionAmount":6399}"#

    /// The PEM text of a private number on P-256 (RFC 5915 §3).
    private static func pem(scalar: String) throws -> Secret {
        let number = try Hex.decode(scalar)
        let head: [UInt8] = [0x30, 0x31, 2, 1, 1, 4, 32]
        let curve: [UInt8] = [0xA0, 10, 6, 8, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 3, 1, 7]
        let der = head + number + curve
        return try Secret(
            Array(
                "-----BEGIN EC PRIVATE KEY-----\n\(Base64.encode(der))\n-----END EC PRIVATE KEY-----\n".utf8))
    }

    // A vector that an independent program computed.

    private static let vectorKey = "0a54d42e316d4abf31a11cfb1e087b6050f9c368671cb33b5d1414c6b9b7767c"
    private static let vector =
        #"{"version":"EC_v1","signature":"AAAA","data":"NHgziKW60JD9NI6RZGnR84LyBT/NfoItKBORS/AVxwedn6ZI6AJZLjbO0UL4eJRYDTQ6mhpfmreyRgcZqfh3DhgD9cH8+BKmLTYPVzpUYVz/nUnz6a11jLZ6sWU5xslm2gSYz0s7wUpVIRKNWvRfir4cHEZs10a6klNvBj2Gyg2b6hfw8+tUcHELVYkw4neffi1SQoY3J/zt/G1JKNkAFlq25Jpj/g42EZSo83L9riEAP7YzAswbVv5FPm4akni1cj0Ww3nBiucSQhgReM9jCBQ6w42wx8rFjqNGcJ0kS6niil7l6RQz4uZSmaeQw6td1VaTvQ2RuDBfU6zE5y/6dtpODaiehf54ECiU09mymLG+yciY7PF7PlzCdWGJF4ySYlYJNNNAB3zzbpexVCtRkn0acQGwqj3KizfmV/x+MA8=","header":{"ephemeralPublicKey":"MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEYBkDuqyA9AJyzoqEnqCfDeBQgqn1mScnTtPNzI3IpKd5MvPzqXRO02TP63L163Ac26kUkcsj/Y6plgXeAOI0wg==","publicKeyHash":"8OYuBW7CuXoixz2QhGccJeRCMIpHhEs9YlSCvC6TzGE=","transactionId":"fc44678719aab6149ed0469ec5336d56ebb6a4504d9c28903b90d8f92b65a490"}}"#

    private func opened(
        _ paymentData: String, scalar: String = Self.vectorKey, merchant: String = Self.merchant
    ) throws
        -> DecryptedPaymentToken
    {
        let key = try PaymentTokenKey(pem: try Self.pem(scalar: scalar), merchantIdentifier: merchant)
        return try EncryptedPaymentToken(try JSONDocument(Array(paymentData.utf8)).root).decrypt(with: [key])
    }

    @Test func `the vector of an independent program is decrypted`() throws {
        let token = try opened(Self.vector)
        #expect(token.currencyNumber == "840")
        #expect(token.amountMinorUnits == 6399)
        #expect(try JSONDocument(token.json.bytes).root["paymentDataType"]?.string == "3DSecure")
        #expect(!"\(token)".contains("4111"))
    }

    @Test func `the vector is not decrypted by another key, for another merchant, or with one bit changed`()
        throws
    {
        let other = String(Self.vectorKey.reversed())
        #expect(throws: PaymentTokenDefect.unknownKey) { try opened(Self.vector, scalar: other) }
        #expect(throws: PaymentTokenDefect.sealed) { try opened(Self.vector, merchant: "merchant.com.other") }
        let vector = try JSONDocument(Array(Self.vector.utf8)).root
        let data = try #require(Base64.decode(vector["data"]?.string ?? ""))
        for bit in [0, 77, data.count * 8 - 1] {
            var changed = data
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            let text = Self.vector.replacing(Base64.encode(data), with: Base64.encode(changed))
            #expect(throws: PaymentTokenDefect.sealed) { try opened(text) }
        }
    }

    // Tokens of a simulated Apple.

    /// A merchant's key, and a token for it that is signed at `signedAt`.
    private struct Sample {
        let issuer: PaymentTokenIssuer
        let key: PaymentTokenKey
        let root: RootCertificate

        init(purpose: RootCertificate.Purpose = EncryptedPaymentToken.purpose) throws {
            issuer = try PaymentTokenIssuer(at: PaymentTokenTests.now, purpose: purpose)
            key = try PaymentTokenKey(
                pem: SigningKey.newPEM(rsaBits: 0), merchantIdentifier: PaymentTokenTests.merchant)
            root = try RootCertificate(issuer.root)
        }

        func token(signedAt seconds: Int = PaymentTokenTests.now, applicationData: [UInt8] = []) throws
            -> JSONDocument
        {
            try JSONDocument(
                issuer.paymentData(
                    Array(PaymentTokenTests.plain.utf8), to: key.publicKey,
                    merchantIdentifier: PaymentTokenTests.merchant, signedAt: seconds,
                    applicationData: applicationData))
        }

        func open(_ token: JSONDocument, applicationData: [UInt8]? = nil) throws -> DecryptedPaymentToken {
            try EncryptedPaymentToken(token.root).open(
                with: [key], root: root, now: PaymentTokenTests.now, applicationData: applicationData)
        }
    }

    @Test func `a token that is signed within five minutes is opened`() throws {
        let sample = try Sample()
        for seconds in [Self.now - 300, Self.now, Self.now + 300] {
            let token = try sample.open(try sample.token(signedAt: seconds))
            #expect(token.amountMinorUnits == 6399 && token.currencyNumber == "840")
        }
        for seconds in [Self.now - 301, Self.now + 301] {
            let token = try sample.token(signedAt: seconds)
            #expect(throws: PaymentTokenDefect.signingTime) { try sample.open(token) }
        }
        let outside = try sample.token(signedAt: Self.now - 3601)
        #expect(throws: PaymentTokenDefect.chain(.outsideValidity)) { try sample.open(outside) }
    }

    @Test func `a token of another root or of certificates without Apple Pay's purposes is refused`() throws {
        let sample = try Sample()
        let token = try sample.token()
        let other = try RootCertificate(try PaymentTokenIssuer(at: Self.now).root)
        #expect(throws: PaymentTokenDefect.chain(.untrusted)) {
            try EncryptedPaymentToken(token.root).open(with: [sample.key], root: other, now: Self.now)
        }
        let purpose = EncryptedPaymentToken.purpose
        for wrong in [
            RootCertificate.Purpose(leaf: "", intermediate: purpose.intermediate),
            RootCertificate.Purpose(leaf: purpose.leaf, intermediate: ""), .appStore,
        ] {
            let sample = try Sample(purpose: wrong)
            let token = try sample.token()
            #expect(throws: PaymentTokenDefect.chain(.purpose)) { try sample.open(token) }
        }
    }

    @Test func `a changed part of a token breaks its signature`() throws {
        let sample = try Sample()
        let token = try sample.token(applicationData: [UInt8](repeating: 7, count: 32))
        let text = String(decoding: token.bytes, as: UTF8.self)
        let other = try sample.token(applicationData: [UInt8](repeating: 8, count: 32)).root
        let header = token.root["header"]
        for (old, new) in [
            (token.root["data"], other["data"]),
            (header?["transactionId"], other["header"]?["transactionId"]),
            (header?["ephemeralPublicKey"], other["header"]?["ephemeralPublicKey"]),
            (header?["applicationData"], other["header"]?["applicationData"]),
            (token.root["signature"], other["signature"]),
        ] {
            let (part, other) = (try #require(old?.string), try #require(new?.string))
            let changed = text.replacing(part, with: other)
            let document = try JSONDocument(Array(changed.utf8))
            #expect(throws: PaymentTokenDefect.signature) { try sample.open(document) }
        }
        let signature = try #require(Base64.decode(token.root["signature"]?.string ?? ""))
        // The last bytes are the ECDSA signature.
        var changed = signature
        changed[changed.count - 1] ^= 1
        let wrong = try JSONDocument(
            Array(text.replacing(Base64.encode(signature), with: Base64.encode(changed)).utf8))
        #expect(throws: PaymentTokenDefect.self) { try sample.open(wrong) }
        for broken in [[], [0x30, 0x00], signature + [0], Array(signature.dropLast())] {
            let document = try JSONDocument(
                Array(text.replacing(Base64.encode(signature), with: Base64.encode(broken)).utf8))
            #expect(throws: PaymentTokenDefect.self) { try sample.open(document) }
        }
    }

    @Test func `a token's application data must be those of the request`() throws {
        let sample = try Sample()
        let ours = [UInt8](repeating: 7, count: 32)
        let token = try sample.token(applicationData: ours)
        #expect(try sample.open(token, applicationData: ours).amountMinorUnits == 6399)
        #expect(throws: PaymentTokenDefect.applicationData) { try sample.open(token) }
        let without = try sample.token()
        #expect(throws: PaymentTokenDefect.applicationData) {
            try sample.open(without, applicationData: ours)
        }
    }

    @Test func `a token for another merchant's key is refused`() throws {
        let sample = try Sample()
        let token = try sample.token()
        let key = try PaymentTokenKey(pem: SigningKey.newPEM(rsaBits: 0), merchantIdentifier: Self.merchant)
        #expect(throws: PaymentTokenDefect.unknownKey) {
            try EncryptedPaymentToken(token.root).open(with: [key], root: sample.root, now: Self.now)
        }
        let document = try JSONDocument(
            sample.issuer.paymentData(
                Array(Self.plain.utf8), to: sample.key.publicKey, merchantIdentifier: "merchant.com.other",
                signedAt: Self.now))
        #expect(throws: PaymentTokenDefect.sealed) { try sample.open(document) }
    }

    @Test(arguments: [
        (#""EC_v1""#, #""RSA_v1""#, PaymentTokenDefect.version), (#""EC_v1""#, "1", .version),
        (#""data""#, #""date""#, .malformed("data")),
        (#""signature""#, #""sign""#, .malformed("signature")),
        (#""publicKeyHash""#, #""hash""#, .malformed("publicKeyHash")),
        (#""transactionId""#, #""id""#, .malformed("transactionId")),
        (#""ephemeralPublicKey""#, #""key""#, .malformed("ephemeralPublicKey")),
    ])
    func `a token of another version or without a member is refused`(
        old: String, new: String, defect: PaymentTokenDefect
    ) throws {
        let document = try JSONDocument(Array(Self.vector.replacing(old, with: new).utf8))
        #expect(throws: defect) { try EncryptedPaymentToken(document.root) }
    }

    @Test(arguments: [
        "{}", "[]", #"{"currencyCode":"840"}"#, #"{"currencyCode":840,"transactionAmount":1}"#,
        #"{"currencyCode":"USD","transactionAmount":1}"#, #"{"currencyCode":"840","transactionAmount":-1}"#,
        #"{"currencyCode":"840","transactionAmount":1.5}"#, "no JSON",
    ])
    func `a decrypted token without currency and amount is refused`(plain: String) throws {
        let sample = try Sample()
        let token = try JSONDocument(
            sample.issuer.paymentData(
                Array(plain.utf8), to: sample.key.publicKey, merchantIdentifier: Self.merchant,
                signedAt: Self.now))
        #expect(throws: PaymentTokenDefect.content) { try sample.open(token) }
    }

    /// Certificates of the vector's key: one names its merchant in the extension 1.2.840.113635.100.6.32, one has none.
    private static let named =
        "MIIB5DCCAYqgAwIBAgIUDcZhXVQU6axWCtk26BnJNySEF1AwCgYIKoZIzj0EAwIwHTEbMBkGA1UEAwwSUGF5bWVudCBwcm9jZXNzaW5nMCAXDTI2MTEyMzIyNDQzNVoYDzIxMjYxMDMwMjI0NDM1WjAdMRswGQYDVQQDDBJQYXltZW50IHByb2Nlc3NpbmcwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATNelZwGcIrbpoVJBQBnyFHzPNIbW0RQdi8W+mYT3SMe87twIQhA8GqB1cMCC3PchKBXQRfrNP4FeCNS6hzFu6oo4GlMIGiMB0GA1UdDgQWBBRf/BUboncmj9+TOM/E6UVsKIEb6DAfBgNVHSMEGDAWgBRf/BUboncmj9+TOM/E6UVsKIEb6DAPBgNVHRMBAf8EBTADAQH/ME8GCSqGSIb3Y2QGIARCDEA0QzU0Q0ZENzRCRUREMjcyNTI3MzNBRUUyMTJDNzRDMkZDOTJDMTI4NTIxNDExQTZGMDZGNkE4Mjg3MTRCNjZDMAoGCCqGSM49BAMCA0gAMEUCIGYQsJbL7w+gqRRandDhkP5DNO4VSPEnXPQum9Uh5mIUAiEA7hDg1pDtiCrHEBAA9Ne77Gd3JDL0V2UWv/T9USchGK8="
    private static let unnamed =
        "MIIBkTCCATegAwIBAgIUOW0etOsyz1wst4sNp7yf1mz7MugwCgYIKoZIzj0EAwIwHTEbMBkGA1UEAwwSUGF5bWVudCBwcm9jZXNzaW5nMCAXDTI2MTEyMzIyNDQzNVoYDzIxMjYxMDMwMjI0NDM1WjAdMRswGQYDVQQDDBJQYXltZW50IHByb2Nlc3NpbmcwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATNelZwGcIrbpoVJBQBnyFHzPNIbW0RQdi8W+mYT3SMe87twIQhA8GqB1cMCC3PchKBXQRfrNP4FeCNS6hzFu6oo1MwUTAdBgNVHQ4EFgQUX/wVG6J3Jo/fkzjPxOlFbCiBG+gwHwYDVR0jBBgwFoAUX/wVG6J3Jo/fkzjPxOlFbCiBG+gwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiA2gvMVC/3pAvWs1QMUfn3FipdYi7sHGTEqMmfK835SWQIhANan8/nPjY+R6R+AabH026ddvPlsO/D5NvW/rYwziEYa"

    @Test func `a merchant's key must fit its certificate, and the certificate its merchant`() throws {
        func read(_ certificate: String, _ merchant: String, pem: Secret? = nil) throws -> PaymentTokenKey {
            try PaymentTokenKey(
                pem: pem ?? Self.pem(scalar: Self.vectorKey),
                certificate: try #require(Base64.decode(certificate)), merchantIdentifier: merchant)
        }
        let key = try read(Self.named, Self.merchant)
        #expect(key.publicKeyHash == SHA256.hash(key.publicKey))
        for (certificate, merchant) in [
            (Self.named, "merchant.com.other"), (Self.unnamed, Self.merchant), ("AAAA", Self.merchant),
            ("", Self.merchant),
        ] {
            #expect(throws: WireError.paymentKeyRefused) { try read(certificate, merchant) }
        }
        let other = try SigningKey.newPEM(rsaBits: 0)
        #expect(throws: WireError.paymentKeyRefused) { try read(Self.named, Self.merchant, pem: other) }
        let rsa = try SigningKey.newPEM(rsaBits: 2048)
        #expect(throws: WireError.paymentKeyRefused) {
            try PaymentTokenKey(pem: rsa, merchantIdentifier: Self.merchant)
        }
    }
}
