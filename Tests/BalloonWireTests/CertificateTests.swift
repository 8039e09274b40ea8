import BalloonJSON
import BalloonWire
import TestSupport
import Testing

/// The time of every check, with certificates that are valid a day before and after it.
private let now = 1_790_000_000
private let validity = (now - 86_400)...(now + 86_400)

/// A chain like Apple's, in which a test can change one property.
private struct Issuing {
    var root = IssuedCertificate.Request(name: "Root", key: .p384, isAuthority: true, validity: validity)
    var intermediate = IssuedCertificate.Request(
        name: "Intermediate", key: .p384, extensionID: RootCertificate.Purpose.appStore.intermediate,
        isAuthority: true, validity: validity)
    var leaf = IssuedCertificate.Request(
        name: "Leaf", key: .p256, extensionID: RootCertificate.Purpose.appStore.leaf, isAuthority: false,
        validity: validity)

    struct Chain {
        let root, intermediate, leaf: IssuedCertificate

        var pair: CertificateChain { CertificateChain(leaf: leaf.der, intermediate: intermediate.der) }

        func verify(_ pair: CertificateChain? = nil, at seconds: Int = now) throws(WireError) -> PublicKey {
            try RootCertificate(root.der).verify(pair ?? self.pair, at: seconds, for: .appStore)
        }

        func signer() throws -> CertifiedTokenSigner {
            try CertifiedTokenSigner(leaf: leaf, intermediate: intermediate, root: root)
        }
    }

    func issue() throws(WireError) -> Chain {
        let root = try IssuedCertificate(root)
        let intermediate = try IssuedCertificate(intermediate, issuer: root)
        return Chain(
            root: root, intermediate: intermediate, leaf: try IssuedCertificate(leaf, issuer: intermediate))
    }
}

/// A pair of certificates and the reason to refuse it.
private struct Refused {
    let label: String
    let pair: CertificateChain
    let defect: CertificateDefect

    init(_ label: String, _ leaf: [UInt8], _ intermediate: [UInt8], _ defect: CertificateDefect) {
        self.label = label
        pair = CertificateChain(leaf: leaf, intermediate: intermediate)
        self.defect = defect
    }
}

@Suite struct CertificateTests {
    @Test(arguments: [IssuedCertificate.Request.Key.p256, .p384])
    func `a chain to the root with both extensions yields the leaf's key`(
        _ kind: IssuedCertificate.Request.Key
    ) throws {
        var issuing = Issuing()
        issuing.intermediate.key = kind
        issuing.leaf.digest = "SHA384"
        let chain = try issuing.issue()
        let key = try chain.verify()
        #expect(try key == SigningKey(pem: chain.leaf.keyPEM).publicKey)
        #expect(throws: Never.self) { try chain.verify(at: validity.lowerBound) }
        #expect(throws: Never.self) { try chain.verify(at: validity.upperBound - 1) }
    }

    private typealias Change = @Sendable (inout Issuing) -> Void

    private static let refused: [(label: String, defect: CertificateDefect, change: Change)] = [
        ("a leaf on P-384", .keyKind, { $0.leaf.key = .p384 }),
        ("a leaf with an RSA key", .keyKind, { $0.leaf.key = .rsa }),
        ("an intermediate with an RSA key", .keyKind, { $0.intermediate.key = .rsa }),
        ("a root with an RSA key", .signatureAlgorithm, { $0.root.key = .rsa }),
        ("a leaf signed with SHA-512", .signatureAlgorithm, { $0.leaf.digest = "SHA512" }),
        ("an intermediate signed with SHA-512", .signatureAlgorithm, { $0.intermediate.digest = "SHA512" }),
        ("an expired leaf", .outsideValidity, { $0.leaf.validity = (now - 9)...(now - 1) }),
        ("a later leaf", .outsideValidity, { $0.leaf.validity = (now + 1)...(now + 9) }),
        ("an expired intermediate", .outsideValidity, { $0.intermediate.validity = (now - 9)...(now - 1) }),
        ("an expired root", .outsideValidity, { $0.root.validity = (now - 9)...(now - 1) }),
        ("an intermediate that is no authority", .untrusted, { $0.intermediate.isAuthority = false }),
        ("a leaf without extension", .purpose, { $0.leaf.extensionID = nil }),
        ("an intermediate without extension", .purpose, { $0.intermediate.extensionID = nil }),
        (
            "a leaf with the other extension", .purpose,
            {
                $0.leaf.extensionID = RootCertificate.Purpose.appStore.intermediate
            }
        ),
    ]

    @Test func `a chain with one wrong property is refused for it`() throws {
        for (label, defect, change) in Self.refused {
            var issuing = Issuing()
            change(&issuing)
            let chain = try issuing.issue()
            #expect(throws: WireError.chainRefused(defect), "\(label)") { try chain.verify() }
        }
    }

    @Test func `certificates of another chain, in the wrong order or with other bytes are refused`() throws {
        let chain = try Issuing().issue()
        let other = try Issuing().issue()
        let (leaf, intermediate, root) = (chain.leaf.der, chain.intermediate.der, chain.root.der)
        // Another authority of the same name, issued by the same root.
        let twin = try IssuedCertificate(Issuing().intermediate, issuer: chain.root).der
        let pairs: [Refused] = [
            Refused("another root", other.leaf.der, other.intermediate.der, .untrusted),
            Refused("another intermediate", leaf, other.intermediate.der, .untrusted),
            Refused("a twin of the intermediate", leaf, twin, .untrusted),
            Refused("the wrong order", intermediate, leaf, .keyKind),
            Refused("the root as intermediate", leaf, root, .untrusted),
            Refused("the leaf twice", leaf, leaf, .untrusted),
            Refused("a trailing byte", leaf + [0], intermediate, .malformed),
            Refused("two certificates", leaf, intermediate + intermediate, .malformed),
            Refused("a missing byte", Array(leaf.dropLast()), intermediate, .malformed),
            Refused("nothing", [], intermediate, .malformed),
            Refused("no certificate", leaf, [0x30, 0x00], .malformed),
            Refused("4,097 bytes", leaf, [UInt8](repeating: 0x30, count: 4097), .malformed),
            // BER allows an indefinite length, DER does not.
            Refused(
                "an indefinite length", [0x30, 0x80] + Array(leaf.dropFirst(4)) + [0, 0], intermediate,
                .malformed),
        ]
        for refused in pairs {
            #expect(throws: WireError.chainRefused(refused.defect), "\(refused.label)") {
                try chain.verify(refused.pair)
            }
        }
    }

    @Test func `a leaf that the root issued itself is refused`() throws {
        let chain = try Issuing().issue()
        let leaf = try IssuedCertificate(Issuing().leaf, issuer: chain.root)
        let pair = CertificateChain(leaf: leaf.der, intermediate: chain.intermediate.der)
        #expect(throws: WireError.chainRefused(.untrusted)) { try chain.verify(pair) }
    }

    @Test func `no changed bit of a certificate makes the chain accepted with another key`() throws {
        let chain = try Issuing().issue()
        let key = try chain.verify()
        for index in stride(from: 0, to: chain.leaf.der.count * 8, by: 13) {
            let leaf = flipping(index, of: chain.leaf.der)
            let pair = CertificateChain(leaf: leaf, intermediate: chain.intermediate.der)
            // The chain is refused, so a changed key is never returned.
            let result = try? chain.verify(pair)
            #expect(result == nil || result == key, "bit \(index)")
        }
    }

    @Test func `the root in the program is the one whose fingerprint Apple publishes`() throws {
        #expect(RootCertificate.appleG3.fingerprint == RootCertificate.appleG3Fingerprint)
        #expect(try RootCertificate(RootCertificate.appleG3.der) == .appleG3)
    }

    @Test func `a root is read from PEM and DER, and nothing but a self-signed authority is one`() throws {
        let chain = try Issuing().issue()
        let text = Base64.encode(chain.root.der)
        let lines = stride(from: 0, to: text.count, by: 64).map { text.dropFirst($0).prefix(64) }
        let pem =
            "-----BEGIN CERTIFICATE-----\n" + lines.joined(separator: "\n") + "\n-----END CERTIFICATE-----\n"
        let root = try RootCertificate(Array(pem.utf8))
        #expect(root.der == chain.root.der)
        #expect(root.fingerprint == Hex.encode(SHA256.hash(chain.root.der)))
        for bytes in [chain.leaf.der, chain.intermediate.der, [], Array("no certificate".utf8)] {
            #expect(throws: WireError.rootRefused) { try RootCertificate(bytes) }
        }
    }

    @Test func `a token is signed by the key of its chain and by no other`() throws {
        let chain = try Issuing().issue()
        let token = try CertifiedToken(chain.signer().sign(Array(#"{"a":1}"#.utf8)))
        #expect(token.chain == chain.pair)
        #expect(token.claims == Array(#"{"a":1}"#.utf8))
        #expect(try token.isSigned(by: chain.verify()))
        #expect(try !token.isSigned(by: SigningKey(for: .es256).publicKey))
    }

    @Test func `a header with another algorithm, crit or another number of certificates is refused`() throws {
        let key = try SigningKey(for: .es256)
        let large = Base64.encode([UInt8](repeating: 0, count: 4097))
        let headers: [String] = [
            #"{"alg":"none","x5c":LIST}"#, #"{"alg":"HS256","x5c":LIST}"#, #"{"alg":"RS256","x5c":LIST}"#,
            #"{"x5c":LIST}"#, #"{"alg":"ES256","alg":"ES256","x5c":LIST}"#,
            #"{"alg":"ES256","crit":[],"x5c":LIST}"#, "[]", "no JSON",
        ]
        let certificates: [String] = [
            #"{"alg":"ES256"}"#, #"{"alg":"ES256","x5c":"AAAA"}"#, #"{"alg":"ES256","x5c":["AAAA","AAAA"]}"#,
            #"{"alg":"ES256","x5c":["AAAA","AAAA","AAAA","AAAA"]}"#,
            #"{"alg":"ES256","x5c":["AAAA",1,"AAAA"]}"#, #"{"alg":"ES256","x5c":["AAAA","","AAAA"]}"#,
            #"{"alg":"ES256","x5c":["AAAA","A-__","AAAA"]}"#,
            #"{"alg":"ES256","x5c":["AAAA","LARGE","AAAA"]}"#,
            #"{"alg":"ES256","x5c":LIST,"x5c":LIST}"#,
        ]
        let list = #"["AAAA","AAAA","AAAA"]"#
        for (headers, error) in [(headers, WireError.tokenHeader), (certificates, .tokenCertificates)] {
            for header in headers {
                let text = header.replacing("LIST", with: list).replacing("LARGE", with: large)
                let token = try key.sign(header: Array(text.utf8), claims: Array("{}".utf8))
                #expect(throws: error, "\(header)") { try CertifiedToken(token) }
            }
        }
        let accepted = try key.sign(
            header: Array(#"{"alg":"ES256","x5c":["AAAA","AAAA","AAAA"]}"#.utf8), claims: Array("{}".utf8))
        #expect(throws: Never.self) { try CertifiedToken(accepted) }
        #expect(throws: WireError.tokenMalformed) { try CertifiedToken(accepted + ".AAAA") }
    }
}
