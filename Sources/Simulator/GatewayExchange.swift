import BalloonHTTP
package import BalloonPOSIX
package import BusinessMessages

/// One request of the server to the simulated gateway about a message, with the answer.
package struct GatewayExchange: Sendable {
    /// The message's identity.
    package let id: MessageID
    /// The time of the request.
    package let at: Timestamp
    /// The status of the answer; 0 when the gateway did not answer.
    package let status: Int
    /// The header fields; the signature of the token is masked.
    package let headers: [(name: String, value: String)]
    /// The text of the answer, at most 1,000 bytes.
    package let response: String
    /// The bytes of the request's body.
    package let bytes: Int
    /// The time from the request to its answer; nil when the gateway did not answer.
    package let duration: Duration?
}

extension GatewayExchange {
    init(
        _ id: MessageID, _ request: HTTPRequest, at: Timestamp, _ response: HTTPResponse?,
        after duration: Duration
    ) {
        self.id = id
        self.at = at
        self.duration = response.map { _ in duration }
        status = response?.status.code ?? 0
        headers = request.fields.map { ($0.name, maskedSignature(of: $0.value, in: $0.name)) }
        self.response = String(decoding: (response?.body ?? []).prefix(1000), as: UTF8.self)
        bytes = request.body.count
    }

    /// The approximate bytes in memory.
    var sizeBytes: Int {
        headers.reduce(128 + response.utf8.count) { $0 + $1.name.utf8.count + $1.value.utf8.count + 32 }
    }
}

/// The value of a header field; that of `authorization` without the signature of its token.
package func maskedSignature(of value: String, in name: String) -> String {
    guard name.lowercased() == "authorization" else { return value }
    guard let dot = value.lastIndex(of: ".") else { return "…" }
    return value[...dot] + "…"
}

/// The newest exchanges, at most 5,000 and 64 MiB.
struct GatewayExchanges: Sendable {
    static let maximumCount = 5_000
    static let maximumBytes = 64 << 20

    private var exchanges = Deque<GatewayExchange>()
    private var sizeBytes = 0

    mutating func append(_ exchange: GatewayExchange) {
        exchanges.append(exchange)
        sizeBytes += exchange.sizeBytes
        while exchanges.count > Self.maximumCount || sizeBytes > Self.maximumBytes,
            let oldest = exchanges.popFirst()
        {
            sizeBytes -= oldest.sizeBytes
        }
    }

    /// The exchanges about a message, oldest first.
    func about(_ id: MessageID) -> [GatewayExchange] { exchanges.filter { $0.id == id } }

    var count: Int { exchanges.count }
}
