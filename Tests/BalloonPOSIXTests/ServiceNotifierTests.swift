import BalloonPOSIX
import Glibc
import TestSupport
import Testing

@Suite struct ServiceNotifierTests {
    @Test(arguments: ["file", "abstract"])
    func `each state reaches the socket of the service manager`(kind: String) throws {
        let directory = TemporaryDirectory()
        let path = kind == "file" ? directory.file("notify") : "@balloon-test-\(getpid())"
        let manager = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(manager) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { target in
            for (index, byte) in path.utf8.enumerated() { target[index] = byte }
            if kind == "abstract" { target[0] = 0 }
        }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + path.utf8.count)
        let isBound = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(manager, $0, length) }
        }
        #expect(isBound == 0)
        let reporter = ServiceNotifier(["NOTIFY_SOCKET": path])
        for (state, expected) in [
            (ServiceNotifier.State.ready, "READY=1"), (.reloading, "RELOADING=1\nMONOTONIC_USEC="),
            (.stopping, "STOPPING=1"), (.alive, "WATCHDOG=1"),
            (.starting(within: .seconds(90)), "EXTEND_TIMEOUT_USEC=90000000"),
        ] {
            try reporter.report(state)
            var bytes = [UInt8](repeating: 0, count: 256)
            let count = recv(manager, &bytes, bytes.count, Int32(MSG_DONTWAIT))
            #expect(String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).hasPrefix(expected))
        }
    }

    @Test(arguments: [[:], ["NOTIFY_SOCKET": ""], ["NOTIFY_SOCKET": "relative"]])
    func `without a usable socket nothing is reported`(variables: [String: String]) throws {
        try ServiceNotifier(variables).report(.ready)
    }

    @Test(arguments: [
        (["WATCHDOG_USEC": "120000000"], Duration.seconds(120)),
        (["WATCHDOG_USEC": "1500", "WATCHDOG_PID": "7"], .microseconds(1500)),
        (["WATCHDOG_USEC": "1500", "WATCHDOG_PID": "8"], nil), (["WATCHDOG_USEC": "0"], nil),
        (["WATCHDOG_USEC": "soon"], nil), (["WATCHDOG_PID": "7"], nil),
        (["WATCHDOG_USEC": "99999999999999999999"], nil),
    ])
    func `the watchdog's interval is that of this process`(variables: [String: String], interval: Duration?) {
        #expect(ServiceNotifier.watchdogInterval(variables, process: 7) == interval)
    }

    @Test func `a socket that does not exist is an error`() {
        let reporter = ServiceNotifier(["NOTIFY_SOCKET": TemporaryDirectory().file("none")])
        #expect(throws: SystemError.self) { try reporter.report(.ready) }
    }
}
