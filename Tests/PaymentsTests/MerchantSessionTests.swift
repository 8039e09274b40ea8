import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import Logging
import Payments
import Simulator
import Synchronization
import TestSupport
import Testing

/// A started service for sessions and a merchant that it knows.
private struct ServiceUnderTest {
    static let context = "https://shop.example/pay/fish/paymentGateway/"

    let directory = TemporaryDirectory()
    let service: FakeMerchantSessions
    var merchant: MerchantIdentity
    let client: MerchantSessionClient

    init() async throws {
        service = try FakeMerchantSessions(
            directory: directory.path, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        try await service.start()
        merchant = MerchantIdentity(
            merchantIdentifier: "merchant.com.example.fish", domainName: "shop.example",
            displayName: "Sam's Fish",
            certificateFile: service.certificateFile, keyFile: service.keyFile)
        merchant.sessionURL = try #require(service.sessionURL)
        merchant.authoritiesFile = service.authoritiesFile
        client = try MerchantSessionClient(pause: { _ in })
    }

    func failure() async -> MerchantSessionFailure? {
        do throws(MerchantSessionFailure) {
            _ = try await client.session(for: merchant, paymentGatewayURL: Self.context)
            return nil
        } catch {
            return error
        }
    }
}

@Suite struct MerchantSessionTests {
    @Test func `a session is issued for the payment gateway's bytes and kept unchanged`() async throws {
        let under = try await ServiceUnderTest()
        let session = try await under.client.session(
            for: under.merchant, paymentGatewayURL: ServiceUnderTest.context)
        #expect(under.service.contexts == [ServiceUnderTest.context])
        let root = try JSONDocument(session.json).root
        #expect(root["initiativeContext"]?.string == ServiceUnderTest.context)
        #expect(root["merchantIdentifier"]?.string?.lowercased() == under.merchant.identifierHash)
        #expect(root["expiresAt"]?.int.map(Int64.init) == session.expiresAt.milliseconds)
        #expect(!session.needsRenewal(at: .now()))
        let another = try await under.client.session(
            for: under.merchant, paymentGatewayURL: ServiceUnderTest.context)
        #expect(another != session)
        await under.service.stop()
    }

    @Test func `a client without the merchant's certificate gets no session`() async throws {
        var under = try await ServiceUnderTest()
        let folder = Fixture.directory + "/tls/"
        under.merchant.certificateFile = folder + "certificate.pem"
        under.merchant.keyFile = folder + "key.pem"
        guard case .unreachable = await under.failure() else {
            Issue.record("a foreign certificate was accepted")
            return
        }
        #expect(under.service.requestCount == 0)
        await under.service.stop()
    }

    @Test(arguments: [
        (FakeMerchantSessions.Fault.status(400), MerchantSessionFailure.refused(status: 400)),
        (.status(417), .refused(status: 417)), (.status(302), .refused(status: 302)),
        (.html, .malformed), (.large, .malformed), (.expired, .expired), (.otherMerchant, .otherMerchant),
    ])
    func `a refusal and an unusable session fail at once`(
        _ fault: FakeMerchantSessions.Fault, _ expected: MerchantSessionFailure
    ) async throws {
        let under = try await ServiceUnderTest()
        under.service.misbehave(fault)
        #expect(await under.failure() == expected)
        #expect(!expected.isRetryable)
        #expect(under.service.requestCount == 1)
        await under.service.stop()
    }

    @Test(arguments: [(1, true), (2, true), (3, false)])
    func `a status of 5xx is retried twice`(_ times: Int, _ succeeds: Bool) async throws {
        let under = try await ServiceUnderTest()
        under.service.misbehave(.status(503), times: times)
        #expect(await under.failure() == (succeeds ? nil : .unavailable(status: 503)))
        #expect(under.service.requestCount == min(times + 1, 3))
        await under.service.stop()
    }

    @Test(arguments: [
        (TransportError.connectionFailed, 3), (.hostUnresolved, 3), (.tlsFailed(code: 35), 3), (.timedOut, 1),
        (.interrupted(code: 56), 1), (.certificateRefused, 1), (.cancelled, 1),
    ])
    func `only a failed connection is retried`(_ error: TransportError, _ tries: Int) async throws {
        let transport = FailingTransport(error: error)
        let client = try MerchantSessionClient(transport: transport, pause: { _ in })
        let merchant = MerchantIdentity(
            merchantIdentifier: "merchant.m", domainName: "m.example", displayName: "M",
            certificateFile: "c", keyFile: "k")
        await #expect(throws: MerchantSessionFailure.unreachable(error)) {
            try await client.session(for: merchant, paymentGatewayURL: "https://m.example/pay")
        }
        #expect(transport.requests.withLock { $0 }.count == tries)
        let allHaveLimits = transport.requests.withLock { requests in
            requests.allSatisfy {
                $0.timeout == .seconds(10) && $0.clientCertificate != nil && $0.mustHappenOnce
            }
        }
        #expect(allHaveLimits)
    }

    @Test(arguments: [
        ("[]", MerchantSessionFailure.malformed), ("{}", .malformed), ("null", .malformed), ("", .malformed),
        (#"{"expiresAt":"1","merchantIdentifier":"ab"}"#, .malformed),
        (#"{"expiresAt":-1,"merchantIdentifier":"ab"}"#, .malformed),
        (#"{"expiresAt":9223372036854775807,"merchantIdentifier":"ab"}"#, .malformed),
        (#"{"expiresAt":2000}"#, .otherMerchant),
        (#"{"expiresAt":2000,"merchantIdentifier":"abc"}"#, .otherMerchant),
        (#"{"expiresAt":1000,"merchantIdentifier":"AB"}"#, .expired),
    ])
    func `an answer that is no current session of the merchant is refused`(
        _ answer: String, _ expected: MerchantSessionFailure
    ) {
        #expect(throws: expected) {
            try IssuedSession(
                Array(answer.utf8), identifierHash: "ab", at: Timestamp(milliseconds: 1000))
        }
    }

    @Test func `a session is renewed when less than a minute remains`() throws {
        let session = try #require(IssuedSession(json: Array(#"{"expiresAt":100000}"#.utf8)))
        #expect(!session.needsRenewal(at: Timestamp(milliseconds: 40_000)))
        #expect(session.needsRenewal(at: Timestamp(milliseconds: 40_001)))
    }
}

/// Fails each request with one error.
private final class FailingTransport: HTTPTransport {
    let error: TransportError
    let requests = Mutex<[TransportRequest]>([])

    init(error: TransportError) { self.error = error }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        requests.withLock { $0.append(request) }
        throw error
    }
}
