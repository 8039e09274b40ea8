import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import MessageServer
import ServerTestSupport
import SignIn
import Simulator
import TestSupport
import Testing

/// `kill -9` between the steps of a sign-in: never a second exchange, and never an identity for another customer.
@Suite struct SignInKillTests {
    /// The moment of the kill.
    enum Moment: String, CaseIterable {
        case beforeTheCallback, betweenConsumeAndExchange, betweenExchangeAndRecord
        case betweenRecordAndRedirect, afterTheRedirect

        /// The endpoint of the provider that does not answer, so that the server waits for it.
        var silent: ProviderEndpoint? {
            switch self {
            case .betweenConsumeAndExchange: .token
            case .betweenExchangeAndRecord: .userinfo
            case .beforeTheCallback, .betweenRecordAndRedirect, .afterTheRedirect: nil
            }
        }
    }

    private static let failure = "messages-auth://?status=failure&error_code=400"
    private static let success = "messages-auth://?status=success"

    private func browse(
        _ query: String, _ server: ServerProcess, _ transport: CurlTransport
    ) async throws -> String? {
        try await transport.send(
            TransportRequest(
                url: "http://\(server.address ?? "")/auth/one/callback?" + query, allowsPlainHTTP: true)
        ).header("location")
    }

    /// Posts Apple's event of success; returns the handler's answer when the customer got `count` messages.
    private func report(
        _ customer: SimulatedCustomer, _ message: JSONDocument, count: Int, _ gateway: FakeGateway
    ) async throws -> String? {
        let success = DeviceSignIn.Outcome.ended(status: "success", errorCode: nil)
        let event = DeviceAnswer(to: try DeviceOffer(message), reporting: success)
        #expect(try await customer.post(customer.message(completing: event.json)).status == 200)
        return await gateway.waitForMessages(count: count, customer: customer.id).last?
            .message.root["body"]?.string
    }

    /// Whether a request has its result on disk.
    private func isRecorded(in data: String) throws -> Bool {
        let folder = data + "/requests"
        return try Directory.names(in: folder).contains { prefix in
            try Directory.names(in: folder + "/" + prefix).filter { $0.hasSuffix(".json") }.contains {
                let bytes = try File(folder + "/" + prefix + "/" + $0, for: .reading).readAll()
                return try JSONDocument(bytes).root["phase"]?.string == "confirmed"
            }
        }
    }

    @Test(arguments: Moment.allCases)
    func `after a kill the code is exchanged at most once, and only its customer is identified`(
        moment: Moment
    ) async throws {
        let provider = try FakeProvider(
            clients: ["balloon": Secret(Array("client-secret-2".utf8))], signing: .es256,
            logger: LogCollector().logger)
        _ = try await provider.start()
        let restartable = try await RestartableServer()
        var server = try restartable.launch("signIn", provider.issuer)
        try await server.waitForListening()
        var customer = restartable.customer(server)
        #expect(try await customer.post(customer.message(.text)).status == 200)
        let message = try #require(
            await restartable.gateway.waitForMessages(customer: customer.id).first?.message)
        let query = try await SignInUnderTest.query(for: message, at: provider, over: restartable.transport)
        if let endpoint = moment.silent {
            provider.misbehave(.slow(endpoint, .seconds(300)))
            let (first, transport) = (server, restartable.transport)
            // The kill ends the connection of this call.
            let callback = Task { try? await browse(query, first, transport) }
            #expect(await eventually { provider.requestCount(endpoint) == 1 })
            await server.kill()
            #expect(await callback.value == nil)
        } else if moment == .betweenRecordAndRedirect {
            let (first, transport) = (server, restartable.transport)
            let callback = Task { try? await browse(query, first, transport) }
            // The file is renamed before its folder is synced, and the redirect follows the sync.
            #expect(try await eventually { try isRecorded(in: restartable.data) })
            await server.kill()
            // The kill can be a moment late; the redirect has gone out then.
            let location = await callback.value
            #expect(location == nil || location == Self.success)
        } else {
            if moment == .afterTheRedirect {
                #expect(try await browse(query, server, restartable.transport) == Self.success)
            }
            await server.kill()
        }
        provider.behave()

        server = try restartable.launch("signIn", provider.issuer)
        try await server.waitForListening()
        let location = try await browse(query, server, restartable.transport)
        #expect(location == (moment == .beforeTheCallback ? Self.success : Self.failure))
        #expect(provider.requestCount(.token) == 1)
        let stranger = restartable.customer(server, id: CustomerID("urn:mbid:AQAA-stranger"))
        #expect(try await report(stranger, message, count: 1, restartable.gateway) == "unproven")
        customer = restartable.customer(server)
        let text = try await report(customer, message, count: 2, restartable.gateway)
        #expect(text == (moment.silent == nil ? "welcome user-alice" : "unproven"))
        await restartable.finish(server)
        await provider.stop()
    }
}
