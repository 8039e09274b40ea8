import BalloonJSON
import BalloonPOSIX
import BalloonWire
import RetentionClient
import RetentionMessages
import TestSupport
import Testing

/// A PNG file without pixels.
private func png(width: Int, height: Int, _ comment: String = "") -> [UInt8] {
    func number(_ value: Int) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) } }
    func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
        number(content.count) + Array(type.utf8) + content + [0, 0, 0, 0]
    }
    let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    return signature + chunk("IHDR", number(width) + number(height) + [8, 2, 0, 0, 0])
        + chunk("tEXt", Array(comment.utf8)) + chunk("IDAT", [])
}

/// An app's folder on disk.
private struct FolderOnDisk {
    let directory = TemporaryDirectory()

    init(_ files: [String: String], images: [String: [UInt8]] = [:]) throws {
        try Directory.make(directory.file("images"))
        try Directory.make(directory.file("messages"))
        for (name, text) in files { try write(Array(text.utf8), to: name) }
        for (name, bytes) in images { try write(bytes, to: "images/" + name) }
    }

    func write(_ bytes: [UInt8], to name: String) throws {
        try AtomicFile.write(bytes, to: directory.file(name))
    }

    func read() -> (folder: RetentionFolder, problems: [String]) {
        let (folder, problems) = RetentionFolder.read(directory.path)
        return (folder, problems.map { String($0.description.dropFirst(directory.path.count + 1)) })
    }
}

private let stay = #"{"header":"Stay","body":"Please."}"#

@Suite struct FolderTests {
    @Test func `an absent folder is empty`() {
        let (folder, problems) = RetentionFolder.read("/nonexistent/folder")
        #expect(folder.messages.isEmpty && folder.images.isEmpty && folder.rules.rules.isEmpty)
        #expect(problems.isEmpty)
    }

    @Test func `messages and images are read with identifiers that derive from their contents`() throws {
        let files = [
            "messages/stay.json": stay,
            "messages/cat.json":
                #"{"header":"Cat","body":"b","image":{"file":"cat.png","altText":"A cat"},"bulletPoints":[{"text":"t","file":"dot.png","altText":"a"}]}"#,
            "defaults.json": #"{"p.monthly":{"en-US":"stay"}}"#,
            "answers.json": #"{"rules":[{"product":"p.monthly","locale":"en","answer":{"message":"cat"}}]}"#,
        ]
        let images = ["cat.png": png(width: 3840, height: 160), "dot.png": png(width: 1024, height: 1024)]
        let disk = try FolderOnDisk(files, images: images)
        let (folder, problems) = disk.read()
        #expect(problems.isEmpty)
        #expect(folder.messages.map(\.name) == ["cat", "stay"])
        #expect(folder.images.map(\.size) == [.full, .bulletPoint])
        let cat = try #require(folder.message("cat"))
        #expect(cat.content.images == Set(folder.images.map(\.id)))
        #expect(folder.message(cat.id.text.uppercased()) == cat)
        #expect(folder.message("dog") == nil)
        #expect(try FolderOnDisk(files, images: images).read().folder.messages == folder.messages)
        try disk.write(png(width: 3840, height: 160, "new"), to: "images/cat.png")
        let changed = disk.read().folder
        #expect(changed.message("cat")?.id != cat.id)
        #expect(changed.message("stay") == folder.message("stay"))
    }

    private static let broken: [(files: [String: String], problem: String)] = [
        (["messages/a.json": "{"], "messages/a.json: is not JSON at line 1, column 2: "),
        (["messages/a.json": #"{"header":"a"}"#], "messages/a.json:1:1: error: /body: missing: "),
        (
            ["messages/a.json": stay, "messages/b.json": stay],
            "messages/b.json: has the same content as a.json"
        ),
        (
            ["messages/a.json": #"{"header":"a","body":"b","image":{"file":"x.png","altText":"x"}}"#],
            "messages/a.json:1:42: error: /image/file: reference: "
        ),
        (
            ["messages/a.json": #"{"header":"a","body":"b","image":{"file":"dot.png","altText":"x"}}"#],
            "messages/a.json:1:34: error: /image: imageSize: "
        ),
        (["defaults.json": #"{"p":{"en":"x"}}"#], "defaults.json:1:12: error: /p/en: reference: "),
        (
            ["messages/a.json": stay, "answers.json": #"{"rules":[{"answer":{"message":"a"}}]}"#],
            "answers.json:1:11: error: /rules/0: defaultMessage: "
        ),
        (
            [
                "messages/a.json": stay, "defaults.json": #"{"p":{"en":"a"}}"#,
                "answers.json": #"{"rules":[{"answer":{"message":"b"}}]}"#,
            ], "answers.json:1:11: error: /rules/0: reference: "
        ),
        (
            [
                "messages/a.json":
                    #"{"header":"h","body":"b","bulletPoints":[{"text":"t","file":"dot.png","altText":"a"}]}"#,
                "defaults.json": #"{"p":{"en":"a"}}"#,
                "answers.json": #"{"rules":[{"answer":{"promotionalOffer":{"message":"a","offer":"o"}}}]}"#,
            ], "answers.json:1:11: error: /rules/0: plainMessage: "
        ),
    ]

    @Test func `each problem is reported with its file and place`() throws {
        for (files, problem) in Self.broken {
            let disk = try FolderOnDisk(files, images: ["dot.png": png(width: 1024, height: 1024)])
            let problems = disk.read().problems
            #expect(problems.count == 1, "\(problems)")
            #expect(problems.first?.hasPrefix(problem) == true, "\(problems)")
        }
        let disk = try FolderOnDisk([:], images: ["a.png": png(width: 1, height: 1), "b.png": [1]])
        #expect(disk.read().problems.map { $0.prefix(6) } == ["images", "images"])
        #expect(disk.read().folder.images.isEmpty)
    }

    @Test func `states are written, read again, and decide with the images about a message`() throws {
        let image = png(width: 3840, height: 160)
        let disk = try FolderOnDisk(
            [
                "messages/a.json": #"{"header":"a","body":"b","image":{"file":"c.png","altText":"x"}}"#
            ], images: ["c.png": image])
        let folder = disk.read().folder
        let message = try #require(folder.messages.first)
        let path = RetentionStates.path(dataDirectory: disk.directory.path, slug: "shop", .sandbox)
        #expect(try RetentionStates.read(path) == nil)
        var states = RetentionStates(messages: [message.id: .approved])
        #expect(!states.isApproved(message))
        states.images[folder.images[0].id] = .pending
        #expect(!states.isApproved(message))
        states.images[folder.images[0].id] = .approved
        #expect(states.isApproved(message))
        states.messages[message.id] = .rejected
        #expect(!states.isApproved(message))
        try states.write(to: path)
        #expect(try RetentionStates.read(path) == states)
        try disk.write(Array(#"{"format":2}"#.utf8), to: "retention/shop/sandbox.json")
        #expect(throws: RetentionFileError.malformed(path)) { try RetentionStates.read(path) }
    }
}

@Suite struct OfferSignerTests {
    private let nonce = RetentionID(hash: [UInt8](repeating: 7, count: 16))

    private func identity() throws -> AppIdentity {
        AppIdentity(
            bundleID: "com.example.app", appleID: 1, issuerID: "issuer", keyID: "KEY",
            key: try SigningKey(for: .es256))
    }

    private func request() throws -> RetentionRequest {
        RetentionRequest(
            originalTransactionID: "99371282", appAppleID: 1, productID: try #require(ProductID("p.monthly")),
            locale: try #require(StoreLocale("en")), requestIdentifier: try #require(nonce),
            environment: .sandbox, signedMilliseconds: 1)
    }

    @Test func `an offer of version 2 is a token over the subscription`() throws {
        let identity = try identity()
        let signed = try OfferSigner(identity).sign(
            RetentionChoice.Offer("half"), for: request(), atMilliseconds: 1_790_000_000_500,
            nonce: #require(nonce))
        guard case .version2(let text) = signed else {
            Issue.record("another version")
            return
        }
        let token = try SignedToken(text)
        #expect(token.isSigned(by: identity.key.publicKey))
        #expect(String(decoding: token.header, as: UTF8.self) == #"{"alg":"ES256","typ":"JWT","kid":"KEY"}"#)
        let claims =
            #"{"iss":"issuer","bid":"com.example.app","aud":"promotional-offer","iat":1790000000,"nonce":"NONCE","productId":"p.monthly","offerIdentifier":"half","transactionId":"99371282"}"#
        #expect(
            try String(decoding: token.claims, as: UTF8.self)
                == claims.replacing("NONCE", with: #require(nonce).text))
    }

    @Test func `an offer of version 1 is signed as DER over its parts`() throws {
        let identity = try identity()
        let account = try #require(nonce)
        // Numbers with the highest bit need one more byte, so one signature proves nothing.
        for _ in 0..<64 {
            let offer = RetentionChoice.Offer(
                "half", product: ProductID("p.yearly"), usesVersion1: true, appAccountToken: account)
            let signed = try OfferSigner(identity).sign(
                offer, for: request(), atMilliseconds: 5, nonce: account)
            guard case .version1(let parts) = signed else {
                Issue.record("another version")
                return
            }
            let text = ["com.example.app", "KEY", "p.yearly", "half", account.text, account.text, "5"]
                .joined(separator: "\u{2063}")
            let der = try #require(Base64.decode(parts.encodedSignature))
            let signature = try pair(der)
            #expect(identity.key.publicKey.isValid(signature: signature, of: Array(text.utf8)))
            #expect(parts.timestamp == 5 && parts.keyID == "KEY" && parts.nonce == account)
        }
    }

    /// The numbers r and s of a DER signature, 32 bytes each.
    private func pair(_ der: [UInt8]) throws -> [UInt8] {
        try #require(der[0] == 0x30 && Int(der[1]) == der.count - 2)
        var position = 2
        var result: [UInt8] = []
        for _ in 0..<2 {
            try #require(position + 2 <= der.count && der[position] == 0x02)
            let count = Int(der[position + 1])
            let number = der.dropFirst(position + 2).prefix(count)
            position += 2 + count
            // X.690 §8.3.2: the first nine bits are not all zero, and a positive number begins with zero.
            let first = try #require(number.first)
            try #require(number.count == count && first < 0x80)
            if number.count > 1, first == 0 { #expect(number[number.startIndex + 1] >= 0x80) }
            let digits = Array(number.drop { $0 == 0 })
            result += [UInt8](repeating: 0, count: 32 - digits.count) + digits
        }
        try #require(position == der.count)
        return result
    }
}
