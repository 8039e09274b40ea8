import BalloonTransport
import TestSupport
import Testing

/// The transport as a TLS client: the peer's identity, our certificate, and the protocol.
@Suite struct TLSTransportTests {
    private static let folder = Fixture.directory + "/tls/"
    private static let http1: @Sendable ([UInt8]) -> [UInt8]? = { request in
        request.suffix(4) == Array("\r\n\r\n".utf8) ? Array(ok("hello").utf8) : nil
    }

    private let transport: CurlTransport

    init() throws { transport = try CurlTransport() }

    private func request(_ peer: TLSPeer, certificate: String? = nil) -> TransportRequest {
        var request = TransportRequest(url: peer.url)
        request.authoritiesFile = Self.folder + "certificate.pem"
        request.clientCertificate = certificate.map {
            ClientCertificate(
                certificateFile: Self.folder + $0 + "certificate.pem", keyFile: Self.folder + $0 + "key.pem")
        }
        return request
    }

    @Test func `a peer that requests a certificate gets ours`() async throws {
        let peer = TLSPeer(clients: Self.folder + "other-certificate.pem", answer: Self.http1)
        // The peer records a connection when it closes, which happens when the transport is destroyed.
        do {
            let transport = try CurlTransport()
            let response = try await transport.send(request(peer, certificate: "other-"))
            #expect(response.body == Array("hello".utf8))
        }
        var first: TLSPeer.Seen?
        for await seen in peer.connections {
            first = seen
            break
        }
        #expect(first?.client == "/CN=other.example")
    }

    @Test(arguments: [nil, ""] as [String?])
    func `a peer that requests a certificate refuses a missing or wrong one`(certificate: String?)
        async throws
    {
        let peer = TLSPeer(clients: Self.folder + "other-certificate.pem", answer: Self.http1)
        await #expect(throws: TransportError.self) {
            try await transport.send(request(peer, certificate: certificate))
        }
    }

    @Test func `an unreadable certificate file fails the request before anything is sent`() async throws {
        let peer = TLSPeer(answer: Self.http1)
        guard case .tlsFailed? = await failure(request(peer, certificate: "none-")) else {
            Issue.record("not refused")
            return
        }
    }

    @Test func `a peer without a trusted certificate is refused for every request`() async throws {
        let peer = TLSPeer(answer: Self.http1)
        var unknown = request(peer)
        unknown.authoritiesFile = Self.folder + "other-certificate.pem"
        #expect(await failure(unknown) == .certificateRefused)
        unknown.authoritiesFile = nil
        #expect(await failure(unknown) == .certificateRefused)
        // A peer whose certificate has another name is refused as well.
        var renamed = request(peer)
        renamed.url = "https://127.0.0.2:\(peer.port)/"
        let error = await failure(renamed)
        #expect(error == .certificateRefused || error == .connectionFailed)
    }

    @Test func `HTTP/2 is used with a peer that selects it`() async throws {
        let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
        let peer = TLSPeer(speaksHTTP2: true) { request in
            guard request.starts(with: preface), hasHeaders(request.dropFirst(preface.count)) else {
                return nil
            }
            // The HTTP/2 frames of the answer (RFC 9113 §6): SETTINGS, HEADERS with the index of `:status
            // 200`, and the last DATA.
            let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
            let head: [UInt8] = [0, 0, 1, 1, 4, 0, 0, 0, 1, 0x88]
            let content: [UInt8] = [0, 0, 2, 0, 1, 0, 0, 0, 1] + Array("h2".utf8)
            return settings + head + content
        }
        let response = try await transport.send(request(peer))
        #expect(response.status == 200)
        #expect(response.body == Array("h2".utf8))
    }

    private func failure(_ request: TransportRequest) async -> TransportError? {
        do {
            _ = try await transport.send(request)
            return nil
        } catch { return error }
    }
}

/// Whether the frames (RFC 9113 §4.1) include a HEADERS frame.
private func hasHeaders(_ bytes: ArraySlice<UInt8>) -> Bool {
    var rest = bytes
    while rest.count >= 9 {
        let start = rest.startIndex
        let length = Int(rest[start]) << 16 | Int(rest[start + 1]) << 8 | Int(rest[start + 2])
        if rest[start + 3] == 1 { return true }
        rest = rest.dropFirst(9 + length)
    }
    return false
}
