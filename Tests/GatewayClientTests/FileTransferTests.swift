import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import Glibc
import Simulator
import TestSupport
import Testing

@testable import GatewayClient

@Suite struct FileTransferTests {
    private let directory = TemporaryDirectory()
    private var files: AttachmentFiles { AttachmentFiles(dataDirectory: directory.path) }

    /// All names in the folder of attachments, including unfinished files.
    private func names() throws -> [String] {
        let folder = directory.file("attachments")
        guard Directory.exists(folder) else { return [] }
        return try Directory.names(in: folder).flatMap { try Directory.names(in: folder + "/" + $0) }
    }

    private func content(_ arrived: DownloadedFile) throws -> [UInt8] {
        try File(#require(files.existing(arrived.sha256)), for: .reading).readAll()
    }

    private func stored(_ file: UploadedFile, sizeBytes: Int? = nil) throws -> StoredReference {
        let message = """
            {"type": "text", "body": "", "attachments": [{"url": "\(file.url)", "owner": "\(file.owner)",
             "key": "\(file.key.field)", "signature-base64": "\(file.signatureBase64)",
             "size": "\(sizeBytes ?? file.sizeBytes)"}]}
            """
        let event = InboundEvent.decode(
            message: try JSONDocument(Array(message.utf8)), id: MessageID("1"),
            business: GatewayUnderTest.business, customer: GatewayUnderTest.customer,
            attributes: MessageAttributes())
        guard case .text(let text) = event.content else { throw GatewayError.cancelled }
        return try StoredReference(try #require(text.attachments.first))
    }

    private static func bytes(_ count: Int) -> [UInt8] { repeatingBytes(count, period: 253) }

    @Test(arguments: [0, 1, 65_537, 3_000_001])
    func `a file is downloaded as it was uploaded, and is stored encrypted in between`(sizeBytes: Int)
        async throws
    {
        let test = try await GatewayUnderTest()
        let content = Self.bytes(sizeBytes)
        let file = try await test.client.upload(
            ContentSource(bytes: content), for: GatewayUnderTest.business)
        #expect(file.sizeBytes == sizeBytes)
        let arrived = try await test.client.download(
            stored(file), for: GatewayUnderTest.business,
            into: files.hold(for: GatewayUnderTest.business))
        let name = Hex.encode(SHA256.hash(content))
        #expect(arrived == DownloadedFile(sha256: name, sizeBytes: sizeBytes, hasExpectedChecksum: true))
        #expect(try self.content(arrived) == content)
        #expect(try names().filter { !$0.contains(".") } == [name])
        await test.gateway.stop()
    }

    @Test(arguments: [GatewayEndpoint.preUpload, .upload])
    func `a failed upload restarts from its first step`(endpoint: GatewayEndpoint) async throws {
        let test = try await GatewayUnderTest()
        test.gateway.misbehave(at: endpoint, .answer(.serviceUnavailable))
        let content = ContentSource(bytes: Self.bytes(300_000))
        await #expect(throws: GatewayError.self) {
            try await test.client.upload(content, for: GatewayUnderTest.business)
        }
        #expect(test.gateway.requestCount(endpoint) == 1)
        let file = try await test.client.upload(content, for: GatewayUnderTest.business)
        let arrived = try await test.client.download(
            stored(file), for: GatewayUnderTest.business,
            into: files.hold(for: GatewayUnderTest.business))
        #expect(try self.content(arrived) == Self.bytes(300_000))
        await test.gateway.stop()
    }

    @Test func `an upload is an error when Apple refuses it or answers malformed data`() async throws {
        let test = try await GatewayUnderTest()
        let content = ContentSource(bytes: Self.bytes(10))
        func failure() async -> GatewayError? {
            do {
                _ = try await test.client.upload(content, for: GatewayUnderTest.business)
                return nil
            } catch { return error }
        }
        test.gateway.misbehave(at: .upload, .answer(.forbidden))
        #expect(await failure()?.refusal == Refusal(.upload, 403))
        test.gateway.misbehave(at: .upload, .body(Array("{}".utf8)))
        #expect(await failure() == .answerMalformed(.upload))
        let short = #"{"singleFile":{"fileChecksum":"gQ==","size":9,"receipt":""}}"#
        test.gateway.misbehave(at: .upload, .body(Array(short.utf8)))
        #expect(await failure() == .lengthMismatch(expectedBytes: 10, actualBytes: 9))
        test.gateway.misbehave(at: .preUpload, .body(Array(#"{"upload-url":"https://x"}"#.utf8)))
        #expect(await failure() == .answerMalformed(.preUpload))
        let elsewhere = #"{"upload-url":"https://evil.example/","mmcs-url":"u","mmcs-owner":"o"}"#
        test.gateway.misbehave(at: .preUpload, .body(Array(elsewhere.utf8)))
        let refused = await failure()
        #expect(refused == .downloadRefused(.host, host: "evil.example"))
        #expect(
            "\(try #require(refused))"
                == "Apple named the host evil.example, which is not in gateway.downloadHosts")
        await test.gateway.stop()
    }

    @Test func `a file over the limit is neither sent nor downloaded`() async throws {
        let test = try await GatewayUnderTest(adjust: { $0.maximumAttachmentBytes = 10 })
        let tooLarge = GatewayError.payloadTooLarge(maximumBytes: 10)
        await #expect(throws: tooLarge) {
            try await test.client.upload(
                ContentSource(bytes: Self.bytes(11)), for: GatewayUnderTest.business)
        }
        let file = try await test.client.upload(
            ContentSource(bytes: Self.bytes(10)), for: GatewayUnderTest.business)
        let large = try stored(file, sizeBytes: 11)
        await #expect(throws: tooLarge) {
            try await test.client.download(
                large, for: GatewayUnderTest.business,
                into: files.hold(for: GatewayUnderTest.business))
        }
        #expect(test.gateway.requestCount(.preUpload) == 1)
        #expect(test.gateway.requestCount(.blob) == 0)
        await test.gateway.stop()
    }

    @Test(arguments: [9, 11])
    func `a file whose length differs from the message is not stored`(sizeBytes: Int) async throws {
        let test = try await GatewayUnderTest()
        let file = try await test.client.upload(
            ContentSource(bytes: Self.bytes(10)), for: GatewayUnderTest.business)
        let wrong = try stored(file, sizeBytes: sizeBytes)
        let error = await #expect(throws: GatewayError.self) {
            try await test.client.download(
                wrong, for: GatewayUnderTest.business,
                into: files.hold(for: GatewayUnderTest.business))
        }
        #expect(error == .lengthMismatch(expectedBytes: sizeBytes, actualBytes: 10))
        #expect(try names().isEmpty)
        await test.gateway.stop()
    }

    @Test func `a wrong checksum reveals a damaged file`() async throws {
        let test = try await GatewayUnderTest()
        let file = try await test.client.upload(
            ContentSource(bytes: Self.bytes(10)), for: GatewayUnderTest.business)
        test.gateway.misbehave(at: .blob, .body(Self.bytes(10)))
        let arrived = try await test.client.download(
            stored(file), for: GatewayUnderTest.business,
            into: files.hold(for: GatewayUnderTest.business))
        #expect(arrived.sizeBytes == 10)
        #expect(!arrived.hasExpectedChecksum)
        await test.gateway.stop()
    }

    @Test func `an unwritable folder is reported as a disk failure`() async throws {
        let test = try await GatewayUnderTest()
        let file = try await test.client.upload(
            ContentSource(bytes: Self.bytes(10)), for: GatewayUnderTest.business)
        // Create a file in place of the folder.
        try AtomicFile.write([], to: directory.file("attachments"))
        let error = await #expect(throws: GatewayError.self) {
            try await test.client.download(
                stored(file), for: GatewayUnderTest.business,
                into: files.hold(for: GatewayUnderTest.business))
        }
        guard case .notKept(let reason) = error else {
            Issue.record("\(String(describing: error))")
            return await test.gateway.stop()
        }
        #expect(reason.code == ENOTDIR || reason.code == EEXIST)
        #expect(error?.isRetryable == false)
        await test.gateway.stop()
    }

    @Test func `an encoded and uploaded payload resolves to the original`() async throws {
        let test = try await GatewayUnderTest()
        let data = #"{"bid":"com.example","data":{"version":"1.0"}}"#
        let payload = try await test.client.makeReference(
            to: Array(data.utf8), bid: "com.example", title: "Choose", for: GatewayUnderTest.business)
        let reference = try #require(PayloadReference(JSONDocument(payload.json).root))
        #expect(reference.title == "Choose")
        #expect(try await test.resolve(reference) == #"{"interactiveData":\#(data)}"#)
        await test.gateway.stop()
    }

    @Test func `encodePayload refuses other values, and an empty answer is an error`() async throws {
        let test = try await GatewayUnderTest()
        let error = await #expect(throws: GatewayError.self) {
            try await test.client.encodePayload(Array("[]".utf8), for: GatewayUnderTest.business)
        }
        #expect(error?.refusal == Refusal(.encodePayload, 400))
        test.gateway.misbehave(at: .encodePayload, .body([]))
        await #expect(throws: GatewayError.answerMalformed(.encodePayload)) {
            try await test.client.encodePayload(Array("{}".utf8), for: GatewayUnderTest.business)
        }
        await test.gateway.stop()
    }

    @Test func `a link becomes a preview reference, or is refused`() async throws {
        let test = try await GatewayUnderTest()
        func construct(_ link: String) async throws(GatewayError) -> UploadedPayload {
            try await test.client.constructPayload(
                link: link, storeRegion: "DE", for: GatewayUnderTest.business)
        }
        let payload = try await construct("https://music.apple.com/album/1")
        #expect(try JSONDocument(payload.json).root["signature-base64"]?.string?.isEmpty == false)
        let error = await #expect(throws: GatewayError.self) { try await construct("ftp://x") }
        #expect(error?.refusal == Refusal(.constructPayload, 400))
        test.gateway.misbehave(at: .constructPayload, .body(Array("{}".utf8)))
        await #expect(throws: GatewayError.answerMalformed(.constructPayload)) {
            try await construct("https://music.apple.com/album/1")
        }
        await test.gateway.stop()
    }
}
