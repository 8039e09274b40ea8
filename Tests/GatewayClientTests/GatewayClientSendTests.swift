import BalloonHTTP
import BalloonJSON
import BalloonTransport
import BalloonWire
import BusinessMessages
import Simulator
import TestSupport
import Testing

@testable import GatewayClient

@Suite struct GatewayClientSendTests {
    @Test func `a text arrives at the gateway as it was encoded`() async throws {
        let test = try await GatewayUnderTest()
        let message = test.text("Good morning")
        #expect(try await test.send(message) == GatewayAcceptance(status: 200))
        let delivered = try #require(test.gateway.messages(for: GatewayUnderTest.customer).first)
        #expect(delivered.id == message.id)
        #expect(delivered.business == GatewayUnderTest.business)
        #expect(delivered.message.bytes == message.body)
        await test.gateway.stop()
    }

    @Test(arguments: [HTTPStatus.internalServerError, .serviceUnavailable, .badGateway, .requestTimeout])
    func `a message is sent only once, whatever status Apple answers`(status: HTTPStatus) async throws {
        let test = try await GatewayUnderTest()
        test.gateway.misbehave(at: .message, .answer(status), times: 9)
        await #expect(throws: GatewayError.unavailable(.message, status: status.code, attempts: 1)) {
            try await test.send(test.text())
        }
        #expect(test.gateway.requestCount(.message) == 1)
        #expect(test.clock.waits.isEmpty)
        await test.gateway.stop()
    }

    @Test func `the error reports the delay that Retry-After asks for`() async throws {
        let test = try await GatewayUnderTest()
        test.gateway.misbehave(at: .message, .answer(.serviceUnavailable, retryAfterSeconds: 17))
        let error = await #expect(throws: GatewayError.self) { try await test.send(test.text()) }
        #expect(error?.retryAfter == .seconds(17))
        await test.gateway.stop()
    }

    @Test(arguments: [HTTPStatus.badRequest, .notFound, .methodNotAllowed])
    func `a refusal is final, and no unknown word of it is reported`(status: HTTPStatus) async throws {
        let test = try await GatewayUnderTest()
        test.gateway.misbehave(at: .message, .answer(status))
        let error = await #expect(throws: GatewayError.self) { try await test.send(test.text()) }
        #expect(error?.refusal == Refusal(.message, status.code))
        guard case .refused(_, _, let reason) = error else { return }
        #expect(reason.description == "")
        #expect(test.gateway.requestCount(.message) == 1)
        await test.gateway.stop()
    }

    @Test(
        arguments: [
            { $0.secret = .random(byteCount: 32) }, { $0.mspID = "99999999-2222-3333-4444-555555555555" },
        ] as [@Sendable (inout GatewayConfiguration) -> Void])
    func `a token with another secret or MSP is refused`(
        adjust: @Sendable (inout GatewayConfiguration) -> Void
    ) async throws {
        let test = try await GatewayUnderTest(adjust: adjust)
        let error = await #expect(throws: GatewayError.self) { try await test.send(test.text()) }
        #expect(error?.refusal == Refusal(.message, 403))
        #expect(error?.isRetryable == false)
        #expect(test.gateway.messages().isEmpty)
        await test.gateway.stop()
    }

    @Test func `an unreachable gateway is reported at once`() async throws {
        let port = RefusingPort()
        let test = try await GatewayUnderTest(adjust: { $0.baseURL = port.origin + "/v1" })
        let error = await #expect(throws: GatewayError.self) { try await test.send(test.text()) }
        #expect(error == .unreachable(.message, .connectionFailed, attempts: 1))
        #expect(error?.isRetryable == true)
        await test.gateway.stop()
    }

    @Test
    func `a message whose answer was lost is sent again with its id, and the gateway records one message`()
        async throws
    {
        let test = try await GatewayUnderTest()
        let hasty = try await GatewayUnderTest(adjust: {
            $0.baseURL = test.gateway.baseURL ?? ""
            $0.secret = test.secret
            $0.requestTimeout = .seconds(1)
        })
        test.gateway.misbehave(at: .message, .silence, times: 1000)
        let message = test.text()
        // Repeat, because on a busy machine the time limit may pass before the message arrives.
        repeat {
            await #expect(throws: GatewayError.unreachable(.message, .timedOut, attempts: 1)) {
                try await hasty.send(message)
            }
        } while test.gateway.messages().isEmpty
        test.gateway.behave()
        _ = try await test.send(message)
        let arrived = test.gateway.messages()
        #expect(arrived.count == 1)
        #expect(arrived.first?.repeats ?? 0 >= 1)
        await test.gateway.stop()
        await hasty.gateway.stop()
    }

    @Test func `cancelling ends the request in flight`() async throws {
        let test = try await GatewayUnderTest()
        test.gateway.misbehave(at: .message, .silence)
        let message = test.text()
        let task = Task { try await test.send(message) }
        _ = await test.gateway.waitForMessages()
        task.cancel()
        await #expect(throws: GatewayError.cancelled) { try await task.value }
        await test.gateway.stop()
    }

    @Test func `plain http is used with loopback addresses only`() async throws {
        let test = try await GatewayUnderTest(adjust: { $0.baseURL = "http://192.0.2.1/v1" })
        await #expect(throws: GatewayError.unreachable(.message, .schemeRefused, attempts: 1)) {
            try await test.send(test.text())
        }
        await test.gateway.stop()
    }

    @Test func `no log line contains the secret, a token, the text or the customer`() async throws {
        let test = try await GatewayUnderTest()
        test.gateway.misbehave(at: .preDownload, .answer(.badGateway), times: 2)
        _ = try await test.send(test.text("my password is swordfish"))
        _ = try await test.resolve(test.reference())
        #expect(!test.logs.lines.isEmpty)
        let forbidden = [
            Base64.encode(test.secret.bytes), "eyJhbGciOiJIUzI1NiJ9", "swordfish",
            GatewayUnderTest.customer.rawValue,
        ]
        for line in test.logs.lines { #expect(!forbidden.contains(where: line.contains)) }
        await test.gateway.stop()
    }
}
