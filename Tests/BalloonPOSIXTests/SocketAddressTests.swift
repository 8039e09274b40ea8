import BalloonPOSIX
import Testing

@Suite struct SocketAddressTests {
    @Test(arguments: [
        ("127.0.0.1:80", SocketAddress.tcp(host: "127.0.0.1", port: 80), "127.0.0.1:80"),
        ("[::1]:0", .tcp(host: "::1", port: 0), "[::1]:0"),
        (":8080", .tcp(host: "0.0.0.0", port: 8080), "0.0.0.0:8080"),
        ("localhost:1", .tcp(host: "127.0.0.1", port: 1), "127.0.0.1:1"),
        ("unix:/a/b", .unix(path: "/a/b"), "unix:/a/b"),
    ])
    func `an address is parsed and written`(_ text: String, _ address: SocketAddress, _ written: String) {
        #expect(SocketAddress(text) == address)
        #expect(address.description == written)
        #expect(SocketAddress(written) == address)
    }

    @Test(arguments: [
        "", "80", "a.example:80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "256.0.0.1:1",
        "unix:", "unix:/\(String(repeating: "a", count: 107))", "[::1]", "::g:1",
    ])
    func `an invalid address is refused`(_ text: String) {
        #expect(SocketAddress(text) == nil)
    }

    @Test(arguments: [
        ("127.0.0.1:1", true), ("127.9.9.9:1", true), ("[::1]:1", true), ("unix:/a", true), (":1", false),
    ])
    func `a loopback address is recognised`(_ text: String, _ isLoopback: Bool) {
        #expect(SocketAddress(text)?.isLoopback == isLoopback)
    }
}
