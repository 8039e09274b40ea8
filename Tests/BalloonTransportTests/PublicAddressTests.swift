import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BalloonTransport

@Suite struct PublicAddressTests {
    private let transport: CurlTransport

    init() throws { transport = try CurlTransport() }

    @Test(arguments: [
        "17.253.144.10", "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255",
        "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
        "2620:149:af0::10", "2a01:b740:a42::1", "2001:200::1", "::ffff:17.253.144.10", "64:ff9b::1.1.1.1",
    ])
    func `an internet address is public`(address: String) throws {
        #expect(try isPublic(address))
    }

    @Test(arguments: [
        "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1",
        "127.255.255.254", "169.254.0.1", "169.254.169.254", "169.254.170.2", "172.16.0.1", "172.31.255.255",
        "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.1", "192.168.255.255", "198.18.0.1",
        "198.19.255.255",
        "198.51.100.7", "203.0.113.7", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
        "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
        "64:ff9b::10.0.0.1", "64:ff9b::169.254.169.254", "64:ff9b:1::1", "100::1", "2001::1",
        "2001:db8::1", "2002:7f00:1::1", "2002:a9fe:a9fe::1", "3fff::1", "4000::1", "5f00::1", "fc00::1",
        "fd00:ec2::254", "fdff::1", "fe80::1", "febf::1", "fec0::1", "ff02::1",
    ])
    func `a private, local or reserved address is not public`(address: String) throws {
        #expect(try !isPublic(address))
    }

    @Test(arguments: [
        "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "0",
        "0.0.0.0",
        "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:0:0:1]", "localhost",
        "LOCALHOST",
        "169.254.169.254", "10.0.0.1", "192.168.1.1", "[fd00:ec2::254]", "[fe80::1]",
    ])
    func `a host that resolves to a private address is refused`(host: String) async throws {
        let hits = Atomic(0)
        let server = LoopbackServer { _ in
            hits.add(1, ordering: .relaxed)
            return .answer(ok())
        }
        var request = TransportRequest(url: "http://\(host):\(server.port)/", allowsPlainHTTP: true)
        request.needsPublicAddress = true
        await #expect(throws: TransportError.addressRefused) { try await transport.send(request) }
        #expect(hits.load(ordering: .relaxed) == 0)
    }

    @Test func `an open connection to a private address is not reused`() async throws {
        let server = LoopbackServer { _ in .answer(ok()) }
        var request = TransportRequest(url: server.url(), allowsPlainHTTP: true)
        #expect(try await transport.send(request).status == 200)
        request.needsPublicAddress = true
        await #expect(throws: TransportError.addressRefused) { try await transport.send(request) }
    }

    @Test func `a redirect to a private address is returned and not followed`() async throws {
        let server = LoopbackServer { request in
            #expect(request.head[0] == "GET /a HTTP/1.1")
            return .answer(
                "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/b\r\nContent-Length: 0\r\n\r\n")
        }
        let request = TransportRequest(url: server.url("/a"), allowsPlainHTTP: true)
        #expect(try await transport.send(request).status == 302)
    }

    private func isPublic(_ text: String) throws -> Bool {
        var bytes = [UInt8](repeating: 0, count: 16)
        if text.contains(":") {
            try #require(inet_pton(AF_INET6, text, &bytes) == 1)
        } else {
            var address = [UInt8](repeating: 0, count: 4)
            try #require(inet_pton(AF_INET, text, &address) == 1)
            bytes.replaceSubrange(10..., with: [0xff, 0xff] + address)
        }
        return isPublicAddress(bytes.span)
    }
}
