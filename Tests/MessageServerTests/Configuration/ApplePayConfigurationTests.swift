import BalloonPOSIX
import BalloonWire
import MessageServer
import Payments
import TestSupport
import Testing

struct ApplePayConfigurationTests {
    private static let server =
        #"{"mspID":"msp","secret":{"env":"BALLOON_SECRET"},"publicURL":"https://messages.example.com"}"#
    private static let certificate = Fixture.directory + "/tls/certificate.pem"
    private static let key = Fixture.directory + "/tls/key.pem"
    private static let names =
        #""merchantIdentifier":"merchant.com.example.fish","domainName":"Shop.Example.com","displayName":"Sam's Fish""#
    private static let plain = names + #","certificateFile":"\#(certificate)","keyFile":"\#(key)""#

    private static let decrypt =
        plain
        + #","decrypt":{"keyFiles":["\#(Fixture.directory)/tls/processing-key.pem"],"certificateFiles":["\#(Fixture.directory)/tls/processing.pem"]}"#

    private func business(_ members: String, id: String = "b-1") -> String {
        #"{"businessID":"\#(id)","name":"Demo","handler":{"builtin":"demo"},"applePay":{\#(members)}}"#
    }

    private func files(_ members: String, server: String = server) throws -> ConfigurationFiles {
        try ConfigurationFiles(server: server, businesses: ["demo": business(members)])
    }

    @Test func `an Apple Pay merchant with the required keys has the documented defaults`() throws {
        let loaded = try files(Self.plain).load()
        let applePay = try #require(loaded.businesses.first?.applePay)
        #expect(applePay.merchant.merchantIdentifier == "merchant.com.example.fish")
        #expect(applePay.merchant.domainName == "shop.example.com")
        #expect(applePay.merchant.displayName == "Sam's Fish")
        #expect(applePay.merchant.sessionURL == MerchantIdentity.sessionURL)
        #expect(applePay.merchant.keyFile == Self.key)
        #expect(applePay.domainAssociation == nil && applePay.fallbackURL == nil)
        #expect(applePay.paths == .constant && applePay.recordsDays == 3650)
    }

    @Test func `every key of an Apple Pay merchant is read`() throws {
        let files = try files(
            Self.plain
                + #"""
                ,"sessionURL":"https://cn-apple-pay-gateway.apple.com/paymentservices/paymentSession",
                "domainAssociationFile":"proof","fallbackURL":"https://shop.example.com/checkout",
                "paths":"perRequest","paymentRecordsDays":1
                """#)
        try files.write("7B22\n", to: "businesses/proof")
        let applePay = try #require(try files.load().businesses.first?.applePay)
        #expect(applePay.merchant.sessionURL.hasPrefix("https://cn-apple-pay-gateway.apple.com/"))
        #expect(applePay.domainAssociation == Array("7B22\n".utf8))
        #expect(applePay.fallbackURL == "https://shop.example.com/checkout")
        #expect(applePay.paths == .perRequest && applePay.recordsDays == 1)
    }

    private static let problems: [(members: String, problem: String)] = [
        ("", #"has no "merchantIdentifier""#), ("", #"has no "keyFile""#),
        (plain + #","secret":1"#, "/applePay/secret: is not a known key"),
        (
            plain.replacing("merchant.com", with: "com"),
            "/merchantIdentifier: is not a merchant identifier"
        ),
        (
            plain.replacing("Shop.Example.com", with: "https://shop.example"),
            "/domainName: is not a domain name"
        ),
        (plain.replacing("Shop.Example.com", with: "127.0.0.1"), "/domainName: is not a domain name"),
        (
            plain.replacing("Sam's Fish", with: String(repeating: "x", count: 65)),
            "/displayName: is empty or longer than 64 characters"
        ),
        (plain.replacing("Sam's Fish", with: ""), "/displayName: is empty or longer than 64 characters"),
        (plain.replacing("/key.pem", with: "/other-key.pem"), "is not a certificate for the configured key"),
        (plain.replacing("/key.pem", with: "/none.pem"), "/keyFile: names a file that cannot be read"),
        (plain + #","sessionURL":"http://127.0.0.1/s""#, "/sessionURL: is not an https address"),
        (plain + #","fallbackURL":"https://a.example/?q""#, "/fallbackURL: is not an https address"),
        (
            plain + #","domainAssociationFile":"none""#,
            "/domainAssociationFile: names a file that cannot be read"
        ),
        (plain + #","domainAssociationFile":"/dev/null""#, "/domainAssociationFile: names an empty file"),
        (plain + #","paths":"secret""#, "/paths: is not a kind of paths"),
        (decrypt.replacing("processing.pem", with: "certificate.pem"), "is not the key of its certificate"),
        (decrypt.replacing("/processing-key.pem", with: "/key.pem"), "is not the key of its certificate"),
        (decrypt.replacing("example.fish", with: "example.meat"), "is not the key of its certificate"),
        (
            decrypt.replacing("/processing-key.pem", with: "/none"),
            "/keyFiles/0: names a file that cannot be read"
        ),
        (decrypt.replacing("]}", with: #"],"rootFile":"\#(key)"}"#), "/rootFile: is not one root"),
        (plain + #","decrypt":{}"#, #"has not 1 to 8 "keyFiles""#),
        (
            plain + #","decrypt":{"keyFiles":["a"],"certificateFiles":["a","b"]}"#,
            #"has not 1 to 8 "keyFiles""#
        ),
        (plain + #","paymentRecordsDays":0"#, "/paymentRecordsDays: is not a whole number in its range"),
        (plain + #","paymentRecordsDays":36501"#, "/paymentRecordsDays: is not a whole number in its range"),
    ]

    @Test(arguments: problems)
    func `a wrong setting of an Apple Pay merchant is reported`(_ members: String, _ expected: String) throws
    {
        let problems = try files(members).problems()
        #expect(problems.contains { $0.contains(expected) }, "\(problems)")
    }

    @Test func `keys that open tokens are read with their certificates`() throws {
        let decryption = try #require(try files(Self.decrypt).load().businesses.first?.applePay?.decryption)
        #expect(decryption.keys.count == 1 && decryption.root == .appleG3)
    }

    @Test(arguments: [
        ("http://shop.example/hook", 1), ("https://shop.example/hook", 0),
        ("http://127.0.0.1:9000/hook?a=b", 0),
        ("http://localhost:9000/hook", 0), ("unix:/run/shop.sock", 0),
    ])
    func `decrypted tokens go to a service over TLS, a socket or this machine only`(
        _ url: String, _ count: Int
    ) throws {
        let handler = #""handler":{"http":{"url":"\#(url)","secret":{"env":"HOOK"}}}"#
        let text = business(Self.decrypt).replacing(#""handler":{"builtin":"demo"}"#, with: handler)
        let problems = try ConfigurationFiles(server: Self.server, businesses: ["demo": text]).problems()
        #expect(problems.count { $0.contains("decrypts payment tokens for a service without TLS") } == count)
    }

    @Test func `a display name of 64 characters is accepted`() throws {
        let longest = Self.plain.replacing("Sam's Fish", with: String(repeating: "é", count: 64))
        #expect(try files(longest).problems() == [])
    }

    @Test func `a merchant needs a public address with https`() throws {
        let problems = try files(Self.plain, server: ConfigurationFiles.server).problems()
        #expect(problems.contains { $0.contains(#"has no "publicURL" with https"#) }, "\(problems)")
    }

    @Test(arguments: [("proof", "proof", 0), ("proof", "other", 1)])
    func `two businesses may share a domain only with the same file`(
        _ first: String, _ second: String, _ count: Int
    ) throws {
        let member = { (name: String) in Self.plain + #","domainAssociationFile":"\#(name)""# }
        let files = try ConfigurationFiles(
            server: Self.server,
            businesses: ["a": business(member(first)), "b": business(member(second), id: "b-2")])
        try files.write("one", to: "businesses/proof")
        try files.write("two", to: "businesses/other")
        let problems = files.problems()
        #expect(problems.count == count)
        #expect(
            problems.allSatisfy { $0.contains(#"another "domainAssociationFile" for its domain than a"#) })
    }

    @Test func `a key that others can read and a certificate that expires soon are warnings`() throws {
        let directory = TemporaryDirectory()
        let now = SystemClock.secondsSince1970()
        let issued = try IssuedCertificate(
            IssuedCertificate.Request(
                name: "merchant", key: .p256, isAuthority: false,
                validity: (now - 86_400)...(now + 10 * 86_400 + 3600)))
        try AtomicFile.write(issued.pem, to: directory.file("merchant.pem"))
        try AtomicFile.write(issued.keyPEM.bytes, to: directory.file("merchant-key.pem"))
        let members =
            Self.names
            + #","certificateFile":"\#(directory.file("merchant.pem"))","keyFile":"\#(directory.file("merchant-key.pem"))""#
        let soon = try files(members).load().warnings.map(\.description)
        #expect(soon.count == 1 && soon[0].contains("expires in 10 days"), "\(soon)")
        let readable = try files(Self.plain).load().warnings.map(\.description)
        #expect(readable.contains { $0.contains("can be read by every user") }, "\(readable)")
    }
}
