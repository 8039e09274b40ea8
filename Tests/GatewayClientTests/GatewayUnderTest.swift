import BalloonJSON
import BalloonTransport
import BalloonWire
import BusinessMessages
import Simulator
import TestSupport
import Testing

@testable import GatewayClient

/// A client and a fake gateway, connected over loopback.
struct GatewayUnderTest {
    static let business = BusinessID("3f0c1d52-7b1e-4a57-9d0e-6c1f2a9b8e41")
    static let customer = CustomerID("urn:mbid:AQAAY3v+qT/9hYx0mZk2Wd7RbLpA8sUe==")
    static let mspID = "11111111-2222-3333-4444-555555555555"

    let secret = Secret.random(byteCount: 32)
    let logs = LogCollector()
    let clock: RecordingClock
    let gateway: FakeGateway
    let client: GatewayClient

    /// Starts the gateway; `adjust` may change the client's configuration, `onWait` runs between attempts.
    init(
        adjust: (inout GatewayConfiguration) -> Void = { _ in },
        onWait: @escaping @Sendable (FakeGateway) async throws -> Void = { _ in }
    ) async throws {
        let gateway = FakeGateway(mspID: Self.mspID, secret: secret, logger: logs.logger)
        self.gateway = gateway
        clock = RecordingClock { try await onWait(gateway) }
        let address = try await gateway.start()
        var configuration = GatewayConfiguration(
            baseURL: "http://\(address)/v1", mspID: Self.mspID, secret: secret, downloadHosts: ["\(address)"])
        adjust(&configuration)
        client = try GatewayClient(configuration: configuration, clock: clock, logger: logs.logger)
    }

    /// The body and the id of a text.
    func text(_ text: String = "Hello") -> (id: MessageID, body: [UInt8]) {
        let id = MessageID.random()
        let body = OutboundMessage.text(text).encode(id: id, from: Self.business, to: Self.customer)
        return (id, body)
    }

    func send(_ message: (id: MessageID, body: [UInt8])) async throws(GatewayError) -> GatewayAcceptance {
        try await client.send(message.body, id: message.id, from: Self.business, to: Self.customer)
    }

    /// Registers a payload and returns its reference; `spoil` may change its fields.
    func reference(
        to interactiveData: String = #"{"bid":"com.example","data":{"version":"1.0"}}"#,
        spoil: (inout SimulatedReference) -> Void = { _ in }
    ) throws -> PayloadReference {
        var reference = try gateway.register(
            interactiveData: JSONDocument(Array(interactiveData.utf8)).root, for: Self.business)
        spoil(&reference)
        return try #require(PayloadReference(JSONDocument(reference.json).root))
    }

    func resolve(
        _ reference: PayloadReference, within duration: Duration = .seconds(20)
    ) async throws(GatewayError) -> String {
        let json = try await client.resolve(reference, for: Self.business, within: duration)
        return String(decoding: json, as: UTF8.self)
    }
}
