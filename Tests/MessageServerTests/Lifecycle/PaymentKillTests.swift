import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import Payments
import ServerTestSupport
import Simulator
import TestSupport
import Testing

/// `kill -9` between the steps of an attempt to pay: never a second charge, and never a charge that the device does not show
/// and nobody reversed.
@Suite struct PaymentKillTests {
    /// The moment of the kill.
    enum Moment: String, CaseIterable {
        /// The attempt is on disk, and the handler may not have been called.
        case afterBegin
        /// The handler has charged and has not answered.
        case afterTheCharge
        /// The device's time is over, and the handler has charged and not answered.
        case whileUncertain
        /// The reversal that decides fails.
        case whileReversing
        /// The success is on disk, and its answer may not have been sent.
        case afterTheRecord
        /// The device has its answer.
        case afterTheAnswer
    }

    /// The files that the handler of `CrashTestServer` writes, and the service for merchant sessions.
    private struct Cashier {
        let directory = TemporaryDirectory()
        let service: FakeMerchantSessions

        init() async throws {
            service = try FakeMerchantSessions(directory: directory.path, logger: LogCollector().logger)
            try await service.start()
            try AtomicFile.write(
                Array((service.sessionURL ?? "").utf8), to: directory.file("session-url"))
        }

        /// The attempts in a file; none when it does not exist.
        func attempts(_ name: String) throws -> [String] {
            guard Directory.exists(directory.file(name)) else { return [] }
            let text = String(
                decoding: try File(directory.file(name), for: .reading).readAll(), as: UTF8.self)
            return text.split(separator: "\n").map(String.init)
        }
    }

    /// Whether the open request's file has an attempt with this state.
    private func has(_ state: String, in data: String) throws -> Bool {
        try hasMember(#""state":"\#(state)""#, in: data)
    }

    private func hasMember(_ member: String, in data: String) throws -> Bool {
        let folder = data + "/requests"
        guard Directory.exists(folder) else { return false }
        return try Directory.names(in: folder).contains { prefix in
            try Directory.names(in: folder + "/" + prefix).filter { $0.hasSuffix(".json") }.contains {
                let bytes = try File(folder + "/" + prefix + "/" + $0, for: .reading).readAll()
                return String(decoding: bytes, as: UTF8.self).contains(member)
            }
        }
    }

    private func pay(
        _ path: String, _ identifier: String, _ server: ServerProcess, _ transport: CurlTransport
    ) async throws -> String {
        let answer = try await transport.send(
            TransportRequest(
                method: "POST", url: "http://\(server.address ?? "")\(path)",
                body: PaymentUnderTest.gateway(shippingMethod: nil, identifier: identifier),
                timeout: .seconds(60),
                allowsPlainHTTP: true))
        return try JSONDocument(answer.body).root["status"]?.string ?? "\(answer.status)"
    }

    @Test(arguments: Moment.allCases)
    func `after a kill an attempt is not charged again, and an uncertain charge is reversed`(
        moment: Moment
    ) async throws {
        let cashier = try await Cashier()
        let restartable = try await RestartableServer()
        let (hold, closed) = (cashier.directory.file("hold"), cashier.directory.file("closed"))
        let isHeld = [.afterTheCharge, .whileUncertain, .whileReversing].contains(moment)
        if isHeld { try AtomicFile.write([], to: hold) }
        if moment == .whileReversing { try AtomicFile.write([], to: closed) }
        var server = try restartable.launch("pay", cashier.directory.path)
        try await server.waitForListening()
        let customer = restartable.customer(server)
        #expect(try await customer.post(customer.message(.text)).status == 200)
        let message = try #require(
            await restartable.gateway.waitForMessages(customer: customer.id).first?.message)
        let data = try #require(message.root["interactiveData"]?["data"])
        let identifier = try #require(data["requestIdentifier"]?.string)
        let url = try #require(data["payment"]?["endpoints"]?["paymentGatewayUrl"]?.string)
        let path = String(url.dropFirst("http://\(server.address ?? "")".utf8.count))

        let (first, transport) = (server, restartable.transport)
        // The kill ends the connection of this call, or comes after its answer.
        let call = Task { try? await pay(path, identifier, first, transport) }
        switch moment {
        case .afterBegin:
            #expect(
                try await eventually {
                    try has("begun", in: restartable.data) || has("succeeded", in: restartable.data)
                })
        case .afterTheCharge: #expect(try await eventually { try cashier.attempts("charges").count == 1 })
        case .whileUncertain:
            #expect(try await eventually { try hasMember(#""uncertain":true"#, in: restartable.data) })
        case .whileReversing:
            // The call never returns by itself, so a first kill makes its end unseen.
            #expect(try await eventually { try hasMember(#""uncertain":true"#, in: restartable.data) })
            _ = await call.value
            await server.kill()
            server = try restartable.launch("pay", cashier.directory.path)
            try await server.waitForListening()
            #expect(try await eventually { try has("reversing", in: restartable.data) })
        case .afterTheRecord: #expect(try await eventually { try has("succeeded", in: restartable.data) })
        case .afterTheAnswer: #expect(await call.value == "STATUS_SUCCESS")
        }
        await server.kill()
        let told = await call.value
        if moment == .afterTheCharge { #expect(told == nil) }
        if moment == .whileUncertain { #expect(told == nil || told == "STATUS_FAILURE") }
        if isHeld { try Directory.remove(hold) }
        if moment == .whileReversing { try Directory.remove(closed) }

        server = try restartable.launch("pay", cashier.directory.path)
        try await server.waitForListening()
        let answer = try await pay(path, identifier, server, transport)
        let charges = try cashier.attempts("charges")
        #expect(charges.count <= 1, "\(charges)")
        if let told { #expect(answer == told) }
        if answer == "STATUS_SUCCESS" {
            #expect(charges.count == 1)
            #expect(try cashier.attempts("reversals").isEmpty)
        } else {
            #expect(answer == "STATUS_FAILURE")
            let id = PaymentAttempt.id(requestIdentifier: identifier, encryptedData: Array("token-1".utf8))
            #expect(try await eventually { try cashier.attempts("reversals").contains(id) })
            // One reversal warns the handler, and a later one decides.
            #expect(try await eventually { try has("reversed", in: restartable.data) })
        }
        if isHeld { #expect(answer == "STATUS_FAILURE") }
        if moment == .afterTheRecord { #expect(answer == "STATUS_SUCCESS") }
        #expect(try cashier.attempts("charges").count == charges.count)
        await restartable.finish(server)
        await cashier.service.stop()
    }
}
