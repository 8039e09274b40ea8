import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import Glibc
import Simulator
import TestSupport
import Testing

@testable import GatewayClient

/// Runs every call to the gateway with every class of failure.
@Suite struct FailureClassTests {
    /// Makes the client call `endpoint` once.
    private func call(
        _ endpoint: GatewayEndpoint, _ test: GatewayUnderTest, _ directory: TemporaryDirectory
    ) async throws {
        let business = GatewayUnderTest.business
        switch endpoint {
        case .message: _ = try await test.send(test.text())
        case .authenticate:
            let message = test.text()
            _ = try await test.client.authenticate(
                message.body, id: message.id, from: business, to: GatewayUnderTest.customer)
        case .preUpload, .upload:
            _ = try await test.client.upload(ContentSource(bytes: [1, 2, 3]), for: business)
        case .encodePayload: _ = try await test.client.encodePayload(Array("{}".utf8), for: business)
        case .constructPayload:
            _ = try await test.client.constructPayload(
                link: "https://music.apple.com/1", storeRegion: "DE", for: business)
        case .preDownload, .blob, .decodePayload: _ = try await test.resolve(test.reference())
        }
    }

    private func failure(
        _ endpoint: GatewayEndpoint, _ test: GatewayUnderTest
    ) async -> GatewayError? {
        do {
            try await call(endpoint, test, TemporaryDirectory())
            return nil
        } catch { return error as? GatewayError }
    }

    /// The calls that fetch are retried at once, because the content expires; a failed message is retried
    /// later from the outbox.
    private static let fetching: [GatewayEndpoint] = [.preDownload, .blob, .decodePayload]
    private static let sending = GatewayEndpoint.allCases.filter { !fetching.contains($0) }

    @Test(arguments: sending)
    func `each call that sends is attempted once`(endpoint: GatewayEndpoint) async throws {
        let test = try await GatewayUnderTest()
        test.gateway.misbehave(at: endpoint, .answer(.serviceUnavailable, retryAfterSeconds: 3), times: 9)
        let error = await failure(endpoint, test)
        #expect(error?.retryAfter == .seconds(3))
        #expect(test.gateway.requestCount(endpoint) == 1)
        await test.gateway.stop()
    }

    @Test(arguments: fetching)
    func `each call that fetches is retried after a transient failure`(endpoint: GatewayEndpoint)
        async throws
    {
        let test = try await GatewayUnderTest()
        for (times, wrong) in [
            (2, Misbehaviour.answer(.serviceUnavailable)),
            (1, .answer(.serviceUnavailable, retryAfterSeconds: 3)),
            (1, .drop), (1, .answer(.internalServerError)),
        ] {
            let before = test.gateway.requestCount(endpoint)
            test.gateway.misbehave(at: endpoint, wrong, times: times)
            try await call(endpoint, test, TemporaryDirectory())
            #expect(test.gateway.requestCount(endpoint) == before + times + 1)
        }
        await test.gateway.stop()
    }

    @Test(arguments: GatewayEndpoint.allCases, [HTTPStatus.unauthorized, .forbidden, .notFound])
    func `every call throws a refusal when Apple answers 401, 403 or 404`(
        endpoint: GatewayEndpoint, status: HTTPStatus
    ) async throws {
        let test = try await GatewayUnderTest()
        test.gateway.misbehave(at: endpoint, .answer(status), times: 2)
        let refusal = await failure(endpoint, test)?.refusal
        #expect(refusal?.status == status.code)
        #expect(test.gateway.messages().isEmpty)
        await test.gateway.stop()
    }

    @Test(arguments: GatewayEndpoint.allCases)
    func `each call ends at its timeout when no answer arrives`(endpoint: GatewayEndpoint) async throws {
        let test = try await GatewayUnderTest(adjust: {
            $0.requestTimeout = .milliseconds(150)
            // Shorten this limit too: the stall timeout of a transfer has whole seconds in libcurl.
            $0.transferTimeout = .milliseconds(150)
            $0.retries.maximumAttempts = 2
        })
        test.gateway.misbehave(at: endpoint, .silence, times: 2)
        let attempts = Self.fetching.contains(endpoint) ? 2 : 1
        guard case .unreachable(_, .timedOut, attempts) = await failure(endpoint, test) else {
            Issue.record("not timed out")
            return await test.gateway.stop()
        }
        await test.gateway.stop()
    }

    @Test(arguments: GatewayEndpoint.allCases)
    func `each call reports an error when every attempt is interrupted`(endpoint: GatewayEndpoint)
        async throws
    {
        let test = try await GatewayUnderTest()
        // Drop more connections than the client makes attempts: libcurl itself retries once when a reused
        // connection breaks.
        test.gateway.misbehave(at: endpoint, .drop, times: 9)
        let attempts = Self.fetching.contains(endpoint) ? 4 : 1
        guard case .unreachable(_, .interrupted, attempts) = await failure(endpoint, test) else {
            Issue.record("not interrupted")
            return await test.gateway.stop()
        }
        await test.gateway.stop()
    }

    @Test(
        arguments: [.preUpload, .upload, .constructPayload, .preDownload, .decodePayload]
            as [GatewayEndpoint],
        [Misbehaviour.garble, .body([]), .body(Array("[]".utf8)), .body(Array(#"{"a":1"#.utf8))])
    func `an unexpected answer body is an error`(
        endpoint: GatewayEndpoint, wrong: Misbehaviour
    ) async throws {
        let test = try await GatewayUnderTest()
        test.gateway.misbehave(at: endpoint, wrong, times: 2)
        guard case .answerMalformed = await failure(endpoint, test) else {
            Issue.record("not malformed")
            return await test.gateway.stop()
        }
        await test.gateway.stop()
    }

    @Test(arguments: [
        GatewayEndpoint.preUpload, .upload, .constructPayload, .preDownload, .blob, .decodePayload,
        .encodePayload,
    ])
    func `an endless answer is cut off with an error`(endpoint: GatewayEndpoint) async throws {
        let test = try await GatewayUnderTest(adjust: {
            $0.maximumDownloadBytes = 100_000
            $0.maximumPayloadBytes = 100_000
        })
        test.gateway.misbehave(at: endpoint, .endless)
        switch await failure(endpoint, test) {
        case .unreachable(_, .responseTooLarge, _), .payloadTooLarge: break
        case let other: Issue.record("\(String(describing: other))")
        }
        await test.gateway.stop()
    }

    @Test(arguments: [
        (Misbehaviour.truncate(bytes: 10), true), (.resize(by: 1), false), (.resize(by: -1), false),
        (.garble, false), (.trickle(bytesPerSecond: 5000), true),
    ])
    func `a damaged payload is fetched again or refused, and never returned`(
        wrong: Misbehaviour, isMended: Bool
    ) async throws {
        let test = try await GatewayUnderTest()
        test.gateway.misbehave(at: .blob, wrong)
        #expect((await failure(.blob, test) == nil) == isMended)
        await test.gateway.stop()
    }

    @Test(arguments: [
        (Misbehaviour.truncate(bytes: 10), true), (.resize(by: 1), false), (.resize(by: -1), false),
        (.drop, true), (.endless, false),
    ])
    func `a damaged file is fetched again or not stored`(wrong: Misbehaviour, isMended: Bool)
        async throws
    {
        let test = try await GatewayUnderTest()
        let directory = TemporaryDirectory()
        let content = repeatingBytes(200_000, period: 250)
        let file = try await test.client.upload(
            ContentSource(bytes: content), for: GatewayUnderTest.business)
        let reference = try file.stored()
        test.gateway.misbehave(at: .blob, wrong)
        let files = AttachmentFiles(dataDirectory: directory.path)
        let arrived = try? await test.client.download(
            reference, for: GatewayUnderTest.business,
            into: files.hold(for: GatewayUnderTest.business))
        #expect((arrived != nil) == isMended)
        if let arrived {
            #expect(try File(#require(files.existing(arrived.sha256)), for: .reading).readAll() == content)
        }
        #expect(try files.names(beginning: "").count == (isMended ? 1 : 0))
        #expect(try Directory.names(in: directory.file("attachments/incoming")).isEmpty)
        await test.gateway.stop()
    }

    @Test func `a large file is uploaded and downloaded in less than 24 MiB of memory`() async {
        // Run in a separate process, because the kernel counts the memory of the whole process.
        await #expect(processExitsWith: .success) {
            let test = try await GatewayUnderTest()
            let directory = TemporaryDirectory()
            let path = directory.file("large")
            let sizeBytes = 48 << 20
            try File(path, for: .overwriting).truncate(to: sizeBytes)
            let before = try Memory.resetPeak()
            let file = try await test.client.upload(ContentSource(file: path), for: GatewayUnderTest.business)
            let files = AttachmentFiles(dataDirectory: directory.path)
            let arrived = try await test.client.download(
                file.stored(), for: GatewayUnderTest.business,
                into: files.hold(for: GatewayUnderTest.business))
            #expect(arrived.sizeBytes == sizeBytes)
            #expect(arrived.hasExpectedChecksum)
            // This counts client and gateway together: neither holds more than pieces of the file.
            #expect(try Memory.peakBytes() - before < 24 << 20)
            await test.gateway.stop()
        }
    }
}

extension UploadedFile {
    /// The file as the attachment of an inbound message.
    fileprivate func stored() throws -> StoredReference {
        let attachment = String(decoding: attachment(name: "a", mimeType: "b").json, as: UTF8.self)
        let event = InboundEvent.decode(
            message: try JSONDocument(
                Array(#"{"type":"text","body":"","attachments":[\#(attachment)]}"#.utf8)),
            id: MessageID("1"), business: GatewayUnderTest.business, customer: GatewayUnderTest.customer,
            attributes: MessageAttributes())
        guard case .text(let text) = event.content else { throw GatewayError.cancelled }
        return try StoredReference(try #require(text.attachments.first))
    }
}

/// The resident memory of this process, as Linux counts it.
private enum Memory {
    /// Resets the peak to the current size, and returns it in bytes.
    static func resetPeak() throws -> Int {
        // Open the file for writing only: some systems allow only root to read it.
        let file = Descriptor(owning: open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC))
        try file.writeAll(Array("5".utf8))
        return try peakBytes()
    }

    static func peakBytes() throws -> Int {
        let status = try Descriptor.open(reading: "/proc/self/status").readToEnd(maximumBytes: 65_536)
        let line = String(decoding: status, as: UTF8.self).split(separator: "\n").first {
            $0.hasPrefix("VmHWM:")
        }
        let kilobytes = line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }
        return try #require(kilobytes) * 1024
    }
}
