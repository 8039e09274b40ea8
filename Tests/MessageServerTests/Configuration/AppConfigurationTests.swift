import BalloonPOSIX
import BalloonWire
import MessageServer
import RetentionClient
import RetentionMessages
import Simulator
import TestSupport
import Testing

struct AppConfigurationTests {
    private static let app =
        #""bundleID":"com.example.app","appleID":1234567890,"issuerID":"11111111-2222","keyID":"KEY","keyFile":"key.p8","rootFile":"root.cer""#

    private func files(_ members: String = app) throws -> ConfigurationFiles {
        let files = try ConfigurationFiles()
        try Directory.make(files.directory.file("apps/shop/messages"))
        let root = try SimulatedAppStore(at: SystemClock.secondsSince1970()).root
        try AtomicFile.write(root, to: files.directory.file("apps/root.cer"))
        let key = try IssuedCertificate(
            IssuedCertificate.Request(name: "key", key: .p256, isAuthority: false, validity: 0...1)
        ).keyPEM
        try AtomicFile.write(key.bytes, to: files.directory.file("apps/key.p8"))
        try files.write("{\(members)}", to: "apps/shop.json")
        return files
    }

    @Test func `without the folder there is no app`() throws {
        #expect(try ConfigurationFiles().load().apps.isEmpty)
    }

    @Test func `an app with the required keys has the documented defaults`() throws {
        let configuration = try files().load()
        let app = try #require(configuration.apps.first)
        #expect(app.slug == "shop")
        #expect(app.identity.bundleID == "com.example.app")
        #expect(app.identity.appleID == 1_234_567_890)
        #expect(app.identity.issuerID == "11111111-2222")
        #expect(app.identity.keyID == "KEY")
        #expect(app.noAnswer == .empty)
        #expect(app.decisionDays == 30)
        #expect(app.handler == nil && app.budget == .milliseconds(450) && app.concurrency == 16)
        #expect(app.folder.messages.isEmpty)
        #expect(configuration.warnings.contains { "\($0)".contains("is not Apple Root CA - G3") })
    }

    @Test func `every key of an app is read, and its folder`() throws {
        let files = try files(
            Self.app
                + #","noAnswer":"503","decisionDays":1,"budgetMilliseconds":649,"concurrency":2,"handler":{"exec":["./a.py"]}"#
        )
        try files.write(#"{"header":"Stay","body":"🎈"}"#, to: "apps/shop/messages/stay.json")
        let app = try #require(try files.load().apps.first)
        #expect(app.noAnswer == .unavailable)
        #expect(app.decisionDays == 1)
        #expect(app.budget == .milliseconds(649) && app.concurrency == 2)
        guard case .bound(by: "exec", _)? = app.handler else {
            Issue.record("no handler")
            return
        }
        #expect(app.folder.messages.map(\.name) == ["stay"])
    }

    private static let problems: [(from: String, to: String, problem: String)] = [
        (#""bundleID":"com.example.app","#, "", #"has no "bundleID""#),
        ("com.example.app", "", "/bundleID: is not 1 to 255 visible ASCII characters"),
        ("1234567890", "0", "/appleID: is not a whole number in its range"),
        ("key.p8", "absent.p8", "/keyFile: names a file that cannot be read"),
        ("key.p8", "root.cer", "/keyFile: is not an in-app purchase key"),
        ("root.cer", "absent.cer", "/rootFile: names a file that cannot be read"),
        ("root.cer", "key.p8", "/rootFile: is not one root certificate"),
        (#""keyID""#, #""noAnswer":"x","keyID""#, "/noAnswer: is not an answer"),
        (#""keyID""#, #""decisionDays":0,"keyID""#, "/decisionDays: is not a whole number in its range"),
        (
            #""keyID""#, #""budgetMilliseconds":650,"keyID""#,
            "/budgetMilliseconds: is not a whole number in its range"
        ),
        (#""keyID""#, #""handler":{},"keyID""#, "/handler: names no handler"),
        (#""keyID""#, #""key":"x","keyID""#, "/key: is not a known key"),
    ]

    @Test func `each invalid setting of an app is reported at its place`() throws {
        for (from, to, problem) in Self.problems {
            let problems = try files(Self.app.replacing(from, with: to)).problems()
            #expect(problems.count == 1 && problems[0].hasPrefix("apps/shop.json:"), "\(problems)")
            #expect(problems.first?.contains(problem) == true, "\(problems)")
        }
    }

    @Test func `a message that the App Store would refuse is a problem of the configuration`() throws {
        let files = try files()
        try files.write(
            #"{"header":"\#(String(repeating: "a", count: 67))","body":"b"}"#, to: "apps/shop/messages/a.json"
        )
        #expect(
            files.problems() == [
                "apps/shop/messages/a.json:1:11: /header: breaks the rule headerLength: found 67 characters"
                    + " (allowed: 66; Retention Messaging API, Upload Message)"
            ])
    }
}
