import BalloonPOSIX
import Glibc
import TestSupport
import Testing

@Suite struct ListeningSocketTests {
    @Test func `port 0 becomes the port that was bound`() throws {
        let socket = try ListeningSocket(.tcp(host: "127.0.0.1", port: 0))
        #expect(socket.address.port ?? 0 > 0)
        #expect(try socket.accept() == nil)
    }

    @Test func `a listening socket accepts a connection`() throws {
        let socket = try ListeningSocket(.tcp(host: "127.0.0.1", port: 0))
        let client = try Descriptor.connect(to: socket.address)
        var accepted = try socket.accept()
        while accepted == nil { accepted = try socket.accept() }
        #expect(try client.send([1, 2, 3]) == 3)
    }

    @Test func `a listener gets the address of its peer`() throws {
        var peers: [PeerAddress] = []
        for host in ["127.0.0.1", "127.0.0.1", "::1"] {
            let socket = try ListeningSocket(.tcp(host: host, port: 0))
            let client = try Descriptor.connect(to: socket.address)
            var peer = PeerAddress()
            var accepted = try socket.accept(from: &peer)
            while accepted == nil { accepted = try socket.accept(from: &peer) }
            peers.append(peer)
            #expect(client.raw >= 0)
        }
        #expect(peers[0] == peers[1])
        #expect(peers[0] != peers[2])
        #expect(peers[0].group == peers[0])
    }

    @Test func `binding an address in use throws an error that names the address`() throws {
        let socket = try ListeningSocket(.tcp(host: "127.0.0.1", port: 0))
        let error = #expect(throws: SystemError.self) { _ = try ListeningSocket(socket.address) }
        #expect(error?.code == EADDRINUSE)
    }

    @Test func `a unix socket file without a server is replaced`() throws {
        let directory = TemporaryDirectory()
        let stale = directory.file("stale")
        try leaveSocket(at: stale)
        let socket = try ListeningSocket(.unix(path: stale))
        #expect(socket.address == .unix(path: stale))
    }

    @Test func `a unix socket file with a server is kept, and binding fails`() throws {
        let directory = TemporaryDirectory()
        let address = SocketAddress.unix(path: directory.file("socket"))
        let socket = try ListeningSocket(address)
        let error = #expect(throws: SystemError.self) { _ = try ListeningSocket(address) }
        #expect(error?.code == EADDRINUSE)
        #expect(access(directory.file("socket"), F_OK) == 0)
        #expect(socket.address == address)
    }

    @Test func `a file that is not a socket is kept, and binding fails`() throws {
        let directory = TemporaryDirectory()
        let path = directory.file("file")
        let file = Descriptor(owning: open(path, O_CREAT | O_WRONLY, 0o600))
        try file.writeAll(Array("kept".utf8))
        let error = #expect(throws: SystemError.self) { _ = try ListeningSocket(.unix(path: path)) }
        #expect(error?.code == EADDRINUSE)
        #expect(access(path, F_OK) == 0)
    }

    /// Binds a socket and leaves it behind, as a process that was killed does.
    private func leaveSocket(at path: String) throws {
        let raw = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(raw) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(raw, $0, size) }
        }
        try #require(status == 0)
    }
}

extension ListeningSocket {
    func accept() throws(SystemError) -> Descriptor? {
        var peer = PeerAddress()
        return try accept(from: &peer)
    }
}
