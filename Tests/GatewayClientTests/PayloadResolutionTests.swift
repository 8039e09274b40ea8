import BalloonHTTP
import BalloonTransport
import BalloonWire
import BusinessMessages
import Simulator
import Testing

@testable import GatewayClient

/// A change that a test makes to a reference, for example to damage a field.
private struct Spoiling: Sendable {
    let change: @Sendable (inout SimulatedReference) -> Void

    init(_ change: @escaping @Sendable (inout SimulatedReference) -> Void) { self.change = change }
}

@Suite struct PayloadResolutionTests {
    @Test func `a reference is resolved to the data behind it`() async throws {
        let test = try await GatewayUnderTest()
        let json = try await test.resolve(test.reference())
        #expect(json == #"{"interactiveData":{"bid":"com.example","data":{"version":"1.0"}}}"#)
        for endpoint in [GatewayEndpoint.preDownload, .blob, .decodePayload] {
            #expect(test.gateway.requestCount(endpoint) == 1)
        }
        await test.gateway.stop()
    }

    @Test(arguments: [
        Spoiling { $0.signatureBase64 = "" },
        Spoiling { ($0.signature, $0.signatureBase64) = ($0.signature.uppercased(), "") },
        Spoiling { $0.key = $0.key.uppercased() },
        Spoiling { $0.signature = "81a619c81da5a01c6139219a5d20e17430c631e1eb" },
    ])
    private func `either signature field is accepted, with digits of either case`(spoil: Spoiling)
        async throws
    {
        let test = try await GatewayUnderTest()
        let reference = try test.reference(spoil: spoil.change)
        #expect(try await test.resolve(reference).hasPrefix(#"{"interactiveData""#))
        await test.gateway.stop()
    }

    @Test(arguments: [
        ("key", Spoiling { $0.key = "00abc" }),
        ("key", Spoiling { $0.key = "01" + $0.key.dropFirst(2) }),
        ("signature", Spoiling { ($0.signature, $0.signatureBase64) = ("", "") }),
        ("signature", Spoiling { ($0.signature, $0.signatureBase64) = ("no hex", "") }),
    ])
    private func `an unusable field of a reference is named in the error`(field: String, spoil: Spoiling)
        async throws
    {
        let test = try await GatewayUnderTest()
        let reference = try test.reference(spoil: spoil.change)
        await #expect(throws: GatewayError.referenceMalformed(field: field)) {
            try await test.resolve(reference)
        }
        #expect(test.gateway.requestCount(.preDownload) == 0)
        await test.gateway.stop()
    }

    @Test(arguments: [
        (Refusal(.preDownload, 404), Spoiling { $0.url += "x" }),
        (Refusal(.preDownload, 400), Spoiling { $0.owner += "x" }),
        (Refusal(.preDownload, 400), Spoiling { $0.signatureBase64 = "gdYWyD3loBxhiXGaXSDhdDDGMeHr" }),
        (Refusal(.decodePayload, 400), Spoiling { $0.key = "00" + String(repeating: "7", count: 64) }),
        (Refusal(.decodePayload, 400), Spoiling { $0.bid = "com.example.other" }),
    ])
    private func `a reference that does not belong to the payload is refused`(
        refusal: Refusal, spoil: Spoiling
    ) async throws {
        let test = try await GatewayUnderTest()
        let reference = try test.reference(spoil: spoil.change)
        let error = await #expect(throws: GatewayError.self) { try await test.resolve(reference) }
        #expect(error?.refusal == refusal)
        await test.gateway.stop()
    }

    @Test func `another business cannot resolve a reference`() async throws {
        let test = try await GatewayUnderTest()
        let reference = try test.reference()
        let error = await #expect(throws: GatewayError.self) {
            try await test.client.resolve(reference, for: BusinessID("other"), within: .seconds(20))
        }
        #expect(error?.refusal == Refusal(.preDownload, 403))
        await test.gateway.stop()
    }

    @Test(arguments: [GatewayEndpoint.preDownload, .blob, .decodePayload])
    func `each step is retried after a failure of Apple`(endpoint: GatewayEndpoint) async throws {
        let test = try await GatewayUnderTest()
        test.gateway.misbehave(at: endpoint, .answer(.serviceUnavailable), times: 2)
        #expect(try await test.resolve(test.reference()).hasPrefix(#"{"interactiveData""#))
        #expect(test.gateway.requestCount(endpoint) == 3)
        await test.gateway.stop()
    }

    @Test func `a payload that is refused compressed is posted again inflated`() async throws {
        let test = try await GatewayUnderTest()
        test.gateway.misbehave(at: .decodePayload, .answer(.badRequest))
        #expect(try await test.resolve(test.reference()).hasPrefix(#"{"interactiveData""#))
        #expect(test.gateway.requestCount(.decodePayload) == 2)
        await test.gateway.stop()
    }

    @Test func `a compressed answer of decodePayload is inflated`() async throws {
        let test = try await GatewayUnderTest()
        test.gateway.misbehave(at: .decodePayload, .body(GzipCompressor().compress(#"{"a":1}"#.utf8)))
        #expect(try await test.resolve(test.reference()) == #"{"a":1}"#)
        await test.gateway.stop()
    }

    @Test(arguments: [Array("{".utf8), Array("[1]".utf8), [0x1f, 0x8b], []])
    func `an answer of decodePayload that is not a JSON object is refused`(answer: [UInt8]) async throws {
        let test = try await GatewayUnderTest()
        test.gateway.misbehave(at: .decodePayload, .body(answer), times: 2)
        await #expect(throws: GatewayError.answerMalformed(.decodePayload)) {
            try await test.resolve(test.reference())
        }
        await test.gateway.stop()
    }

    @Test(arguments: ["", "{}", #"{"download-url":1}"#])
    func `an answer of preDownload without an address is refused`(answer: String) async throws {
        let test = try await GatewayUnderTest()
        test.gateway.misbehave(at: .preDownload, .body(Array(answer.utf8)))
        await #expect(throws: GatewayError.answerMalformed(.preDownload)) {
            try await test.resolve(test.reference())
        }
        await test.gateway.stop()
    }

    @Test func `an unlisted address is not downloaded`() async throws {
        let test = try await GatewayUnderTest(adjust: { $0.downloadHosts = ["icloud.com"] })
        await #expect {
            try await test.resolve(test.reference())
        } throws: { error in
            if case .downloadRefused(.host, _)? = error as? GatewayError { true } else { false }
        }
        #expect(test.gateway.requestCount(.blob) == 0)
        await test.gateway.stop()
    }

    @Test func `a payload whose length differs from the reference is an error`() async throws {
        let test = try await GatewayUnderTest()
        let reference = try test.reference()
        test.gateway.misbehave(at: .blob, .body([1, 2, 3]))
        let expected = try #require(reference.sizeBytes)
        await #expect(throws: GatewayError.lengthMismatch(expectedBytes: expected, actualBytes: 3)) {
            try await test.resolve(reference)
        }
        await test.gateway.stop()
    }

    @Test func `a payload over the limit is not downloaded completely`() async throws {
        let test = try await GatewayUnderTest(adjust: { $0.maximumDownloadBytes = 1000 })
        let tooLarge = GatewayError.payloadTooLarge(maximumBytes: 1000)
        let honest = try test.reference { $0.sizeBytes = 1001 }
        await #expect(throws: tooLarge) { try await test.resolve(honest) }
        #expect(test.gateway.requestCount(.blob) == 0)
        test.gateway.misbehave(at: .blob, .body([UInt8](repeating: 7, count: 1001)))
        await #expect(throws: tooLarge) { try await test.resolve(test.reference()) }
        await test.gateway.stop()
    }

    @Test func `resolving a payload ends at its deadline`() async throws {
        let test = try await GatewayUnderTest()
        test.gateway.misbehave(at: .blob, .silence)
        let error = await #expect(throws: GatewayError.self) {
            try await test.resolve(test.reference(), within: .milliseconds(300))
        }
        // On a busy machine the deadline may pass before the download starts.
        switch error {
        case .deadlineExceeded, .unreachable(_, .timedOut, attempts: 1): break
        default: Issue.record("\(String(describing: error))")
        }
        #expect(test.gateway.requestCount(.decodePayload) == 0)
        await #expect(throws: GatewayError.deadlineExceeded) {
            try await test.resolve(test.reference(), within: .zero)
        }
        await test.gateway.stop()
    }
}
