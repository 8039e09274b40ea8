import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import TestSupport
import Testing

@testable import Simulator

/// A fake gateway and a client that calls it like an MSP's server.
struct GatewayConversation {
    static let mspID = "11111111-2222-3333-4444-555555555555"

    let secret = Secret.random(byteCount: 32)
    let gateway: FakeGateway
    let transport: CurlTransport
    let origin: String

    init(businesses: Set<BusinessID>? = nil) async throws {
        gateway = FakeGateway(
            mspID: Self.mspID, secret: secret, businesses: businesses, logger: LogCollector().logger)
        transport = try CurlTransport()
        origin = "http://\(try await gateway.start())"
    }

    /// The token of an MSP; `claims` replaces the valid claims.
    func bearer(_ claims: String? = nil, secret: Secret? = nil) -> String {
        let right = #"{"iss":"\#(Self.mspID)","iat":\#(SystemClock.secondsSince1970())}"#
        return "Bearer " + TokenSigner(secret: secret ?? self.secret).sign((claims ?? right).utf8)
    }

    func ask(
        _ method: String, _ path: String, _ fields: [String: String] = [:], body: [UInt8] = [],
        bearer: String? = nil
    ) async throws -> TransportResponse {
        var headers = fields.map { (name: $0.key, value: $0.value) }
        headers.append((name: "authorization", value: bearer ?? self.bearer()))
        return try await transport.send(
            TransportRequest(
                method: method, url: origin + path, headers: headers.filter { !$0.value.isEmpty }, body: body,
                allowsPlainHTTP: true))
    }

    /// Posts a text; `fields` replaces valid headers.
    @discardableResult
    func post(
        _ id: String = MessageID.random().rawValue, to customer: String = "urn:mbid:A+/=",
        replacing fields: [String: String] = [:], body: String? = nil, bearer: String? = nil
    ) async throws -> TransportResponse {
        let text = #"{"id":"\#(id)","type":"text","sourceId":"b","destinationId":"\#(customer)","body":"x"}"#
        let right = [
            "id": id, "source-id": "b", "destination-id": customer, "content-type": "application/json",
        ]
        return try await ask(
            "POST", "/v1/message", right.merging(fields) { $1 }, body: Array((body ?? text).utf8),
            bearer: bearer)
    }

    /// The numbers of the messages that the query finds.
    func numbers(_ query: String) async throws -> [Int] {
        let answer = try await ask("GET", "/_simulator/messages?" + query, bearer: "")
        #expect(answer.status == 200)
        return try JSONDocument(answer.body).root["messages"]?.elements.compactMap { $0["number"]?.int } ?? []
    }
}
