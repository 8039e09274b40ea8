import BalloonPOSIX
import BalloonWire
import RetentionClient
import RetentionMessages
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import MessageServer

/// An app with a folder on disk, and a simulated App Store that asks about it.
struct AppUnderTest {
    static let now = 1_790_000_000_123
    static let slug = "shop"
    static let appleID = 1_234_567_890

    let directory = TemporaryDirectory()
    let store: SimulatedAppStore
    let identity: AppIdentity

    /// Writes the folder: two messages, a default for each product, and rules for two locales.
    init() throws {
        store = try SimulatedAppStore(at: Self.now / 1000)
        identity = AppIdentity(
            bundleID: "com.example.app", appleID: Self.appleID, issuerID: "issuer", keyID: "KEY",
            key: try SigningKey(for: .es256))
        let folder = directory.file("apps/shop")
        try Directory.make(folder + "/messages")
        let files = [
            "messages/stay.json": #"{"header":"Stay","body":"Please stay."}"#,
            "messages/bleib.json": #"{"header":"Bleib","body":"Bitte bleib."}"#,
            "defaults.json": #"{"p.monthly":{"en-US":"stay","de-DE":"bleib"}}"#,
            "answers.json":
                #"{"rules":[{"locale":"de","answer":{"message":"bleib"}},{"locale":"en-GB","answer":{"promotionalOffer":{"message":"stay","offer":"half"}}},{"locale":"en","answer":{"message":"stay"}}]}"#
                .replacing("en-GB", with: "en-US"),
        ]
        for (name, text) in files { try AtomicFile.write(Array(text.utf8), to: folder + "/" + name) }
    }

    func configuration(_ adjust: (inout AppConfiguration) -> Void = { _ in }) throws -> AppConfiguration {
        let (folder, problems) = RetentionFolder.read(directory.file("apps/shop"))
        try #require(problems.isEmpty, "\(problems)")
        var app = AppConfiguration(
            slug: Self.slug, identity: identity, root: try RootCertificate(store.root), folder: folder)
        adjust(&app)
        return app
    }

    /// Records states of the folder's messages, as `balloon retention` does.
    func record(
        _ state: RetentionState, of names: [String] = ["stay", "bleib"],
        in environment: RetentionEnvironment = .production
    ) throws {
        let folder = try configuration().folder
        let messages = names.compactMap { folder.message($0)?.id }.map { ($0, state) }
        let states = RetentionStates(messages: Dictionary(messages) { first, _ in first })
        try states.write(to: statesPath(environment))
    }

    func statesPath(_ environment: RetentionEnvironment) -> String {
        RetentionStates.path(dataDirectory: directory.file("data"), slug: Self.slug, environment)
    }

    /// A question; the last digits of its identifier are `number`.
    func question(
        _ number: Int = 1, locale: String = "de-DE", appleID: Int? = appleID,
        environment: RetentionEnvironment = .production, signedMilliseconds: Int = now
    ) throws -> RetentionRequest {
        let digits = String(number)
        let id = "a1b2c3d4-e5f6-7890-a1b2-" + String(repeating: "0", count: 12 - digits.count) + digits
        return RetentionRequest(
            originalTransactionID: "99371282", appAppleID: appleID,
            productID: try #require(ProductID("p.monthly")), locale: try #require(StoreLocale(locale)),
            requestIdentifier: try #require(RetentionID(id)), environment: environment,
            signedMilliseconds: signedMilliseconds)
    }
}

/// A clock that a test turns.
final class TurnedClock: Sendable {
    private let passed = Mutex(0)

    /// Moves both clocks forward by milliseconds.
    func turn(by milliseconds: Int) { passed.withLock { $0 += milliseconds } }

    var clock: QuestionVerifier.Clock {
        QuestionVerifier.Clock(
            milliseconds: { AppUnderTest.now + self.passed.withLock { $0 } },
            uptime: { .milliseconds(self.passed.withLock { $0 }) })
    }
}
