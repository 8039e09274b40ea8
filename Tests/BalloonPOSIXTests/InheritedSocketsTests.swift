import BalloonPOSIX
import Glibc
import TestSupport
import Testing

@Suite struct InheritedSocketsTests {
    @Test(arguments: [
        // One socket without a name is the public one.
        (["LISTEN_PID": "7", "LISTEN_FDS": "1"], ["public": 3]),
        (["LISTEN_PID": "7", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "unknown"], ["public": 3]),
        (
            ["LISTEN_PID": "7", "LISTEN_FDS": "2", "LISTEN_FDNAMES": "admin:public"],
            ["admin": 3, "public": 4]
        ),
        (["LISTEN_PID": "7", "LISTEN_FDS": "2", "LISTEN_FDNAMES": "public:public"], ["public": 3]),
        // For another process, without an owner, and with nonsense.
        (["LISTEN_PID": "8", "LISTEN_FDS": "1"], [:]),
        (["LISTEN_FDS": "1"], [:]),
        (["LISTEN_PID": "7", "LISTEN_FDS": "0"], [:]),
        (["LISTEN_PID": "7", "LISTEN_FDS": "-1"], [:]),
        (["LISTEN_PID": "7", "LISTEN_FDS": "65"], [:]),
        (["LISTEN_PID": "7", "LISTEN_FDS": "99999999999999999999"], [:]),
        (["LISTEN_PID": "7", "LISTEN_FDS": "one"], [:]),
        ([:], [:]),
    ])
    func `the variables of the service manager name the sockets of this process`(
        variables: [String: String], expected: [String: Int32]
    ) {
        let sockets = InheritedSockets(environment: variables, process: 7)
        for name in ["public", "admin", "unknown", ""] { #expect(sockets[name] == expected[name]) }
    }

    @Test
    func `an inherited socket has its own address and keeps its connections when the process closes it`()
        throws
    {
        let manager = try ListeningSocket(.tcp(host: "127.0.0.1", port: 0))
        let address = manager.address
        do {
            let inherited = try ListeningSocket(inherited: dup(manager.raw))
            let (own, isInherited) = (inherited.address, inherited.isInherited)
            #expect(own == address)
            #expect(isInherited)
        }
        let client = try Descriptor.connect(to: address)
        var waiting = pollfd(fd: manager.raw, events: Int16(POLLIN), revents: 0)
        #expect(poll(&waiting, 1, 10_000) == 1)
        let next = try ListeningSocket(inherited: dup(manager.raw))
        let accepted = try next.accept()?.release()
        #expect(accepted != nil)
        if let accepted { close(accepted) }
        _ = client.raw
    }

    @Test func `an inherited unix socket has its path, and its file stays when the process closes it`() throws
    {
        let directory = TemporaryDirectory()
        let manager = try ListeningSocket(.unix(path: directory.path + "/control.sock"))
        let address = manager.address
        do {
            let inherited = try ListeningSocket(inherited: dup(manager.raw))
            let own = inherited.address
            #expect(own == address)
        }
        _ = try Descriptor.connect(to: address)
    }

    @Test func `a descriptor that is no listening socket is refused`() throws {
        let (file, unbound) = (open("/dev/null", O_RDONLY), socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
        for descriptor in [file, unbound] {
            #expect(throws: SystemError.self) { _ = try ListeningSocket(inherited: descriptor) }
        }
        close(unbound)
        close(file)
    }
}
