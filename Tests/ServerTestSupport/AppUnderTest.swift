import BalloonPOSIX
import BalloonWire
package import MessageServer
package import RetentionClient
package import RetentionMessages
package import Simulator
package import TestSupport
import Testing

/// An app with a folder on disk, and a simulated App Store that asks about it.
package struct AppUnderTest {
    package static let now = 1_790_000_000_123
    package static let slug = "shop"
    package static let appleID = 1_234_567_890

    package let directory = TemporaryDirectory()
    package let store: SimulatedAppStore
    package let identity: AppIdentity

    /// Writes the folder: two messages, a default for each product, and rules for two locales.
    package init() throws {
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

    /// Adds a message with an image and one that Apple rejects.
    package func addMessages() throws {
        let folder = directory.file("apps/shop")
        try Directory.make(folder + "/images")
        try AtomicFile.write(Self.png, to: folder + "/images/cat.png")
        let files = [
            "image": #"{"header":"Cat","body":"b","image":{"file":"cat.png","altText":"a"}}"#,
            "rejected": #"{"header":"No","body":"b"}"#,
        ]
        for (name, text) in files {
            try AtomicFile.write(Array(text.utf8), to: folder + "/messages/\(name).json")
        }
    }

    /// A PNG file of 3,840 × 160 without pixels.
    private static let png: [UInt8] =
        [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8)
        + [0, 0, 0x0F, 0, 0, 0, 0, 0xA0, 8, 2, 0, 0, 0, 0, 0, 0, 0] + [0, 0, 0, 0] + Array("IDAT".utf8)
        + [0, 0, 0, 0]

    package func configuration(_ adjust: (inout AppConfiguration) -> Void = { _ in }) throws
        -> AppConfiguration
    {
        let (folder, problems) = RetentionFolder.read(directory.file("apps/shop"))
        try #require(problems.isEmpty, "\(problems)")
        var app = AppConfiguration(
            slug: Self.slug, identity: identity, root: try RootCertificate(store.root), folder: folder)
        adjust(&app)
        return app
    }

    /// Records states of the folder's messages, as `balloon retention` does.
    package func record(
        _ state: RetentionState, of names: [String] = ["stay", "bleib"],
        in environment: RetentionEnvironment = .production
    ) throws {
        let folder = try configuration().folder
        let messages = names.compactMap { folder.message($0)?.id }.map { ($0, state) }
        let images = folder.images.map { ($0.id, state) }
        let states = RetentionStates(
            messages: Dictionary(messages) { first, _ in first }, images: Dictionary(images) { $1 })
        try states.write(to: statesPath(environment))
    }

    package func statesPath(_ environment: RetentionEnvironment) -> String {
        RetentionStates.path(dataDirectory: directory.file("data"), slug: Self.slug, environment)
    }

    /// A question; the last digits of its identifier are `number`.
    package func question(
        _ number: Int = 1, product: String = "p.monthly", locale: String = "de-DE", appleID: Int? = appleID,
        environment: RetentionEnvironment = .production, signedMilliseconds: Int = now
    ) throws -> RetentionRequest {
        let digits = String(number)
        let id = "a1b2c3d4-e5f6-7890-a1b2-" + String(repeating: "0", count: 12 - digits.count) + digits
        return RetentionRequest(
            originalTransactionID: "99371282", appAppleID: appleID,
            productID: try #require(ProductID(product)), locale: try #require(StoreLocale(locale)),
            requestIdentifier: try #require(RetentionID(id)), environment: environment,
            signedMilliseconds: signedMilliseconds)
    }
}
