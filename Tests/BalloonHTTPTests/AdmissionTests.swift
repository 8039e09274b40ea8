import BalloonPOSIX
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BalloonHTTP

/// The decision of a route about the head of a request, before its body is stored.
@Suite struct AdmissionTests {
    @Test func `a refused request is answered before its body arrives, and the connection closes`()
        async throws
    {
        let route = GuardedRoute()
        try await withServer([route.route]) { server in
            let answer = try await server.withConnection { connection in
                try connection.send(post(length: 100_000, token: "wrong"))
                let answer = try connection.answer()
                #expect(try connection.answer() == nil)
                return answer
            }
            #expect(answer?.status == 401)
            #expect(answer?.field("Connection") == "close")
            #expect(route.handled == 0)
        }
    }

    @Test func `a refused request never gets 100 Continue`() async throws {
        let route = GuardedRoute()
        try await withServer([route.route]) { server in
            let text = try await server.exchange(
                post(length: 10, token: "wrong", "Expect: 100-continue\r\n"))
            #expect(text.hasPrefix("HTTP/1.1 401 "))
            let admitted = try await server.withConnection { connection in
                try connection.send(post(length: 1, token: "right", "Expect: 100-continue\r\n"))
                return try connection.answer(hasBody: false)
            }
            #expect(admitted?.status == 100)
        }
    }

    @Test(arguments: [
        "Content-Length: 3\r\n\r\nabc", "Content-Length: 0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    ])
    func `the connection stays open when a refused request is complete`(_ rest: String)
        async throws
    {
        let route = GuardedRoute()
        try await withServer([route.route]) { server in
            try await server.withConnection { connection in
                let refused = "POST /guarded HTTP/1.1\r\nHost: a\r\nAuthorization: wrong\r\n" + rest
                try connection.send(refused + post(length: 2, token: "right") + "ab")
                let first = try connection.answer()
                #expect(first?.status == 401)
                #expect(first?.field("Connection") == nil)
                #expect(try connection.answer()?.body == "2")
            }
        }
    }

    @Test(arguments: ["5\r\nabc", "zz\r\n", "3\r\nabc\r\n0\r\n"])
    func `an incomplete chunked body ends the connection of a refused request`(_ body: String)
        async throws
    {
        let route = GuardedRoute()
        try await withServer([route.route]) { server in
            let text = try await server.exchange(
                "POST /guarded HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
            #expect(text.hasPrefix("HTTP/1.1 401 "))
            #expect(text.contains("Connection: close\r\n"))
        }
    }

    @Test func `pipelined requests are answered before a later refused one`()
        async throws
    {
        let route = GuardedRoute()
        try await withServer(sampleRoutes + [route.route]) { server in
            try await server.withConnection { connection in
                try connection.send(
                    get("/later") + get("/") + post(length: 500, token: "wrong") + "abc" + get("/"))
                #expect(try connection.answer()?.body == "later")
                #expect(try connection.answer()?.body == "root")
                #expect(try connection.answer()?.status == 401)
                #expect(try connection.answer() == nil)
            }
        }
    }

    @Test func `admit is called once for any split of a request, and the handler sees its decision`()
        async throws
    {
        let route = GuardedRoute()
        try await withServer([route.route]) { server in
            try await server.withConnection { connection in
                for byte in post(length: 3, token: "right") + "abc" { try connection.send(String(byte)) }
                #expect(try connection.answer()?.body == "3")
            }
            #expect(route.judged == 1)
        }
    }

    @Test func `a body over its limit is refused before admit is called`() async throws {
        let route = GuardedRoute()
        try await withServer([route.route]) { server in
            let answer = try await server.answer(post(length: 1 << 30, token: "wrong"))
            #expect(answer?.status == 413)
            #expect(route.judged == 0)
        }
    }

    @Test func `stalled bodies of requests that were not admitted do not displace an admitted body`()
        async throws
    {
        let route = GuardedRoute()
        try await withServer([route.route]) { server in
            let address = server.address
            try await onThread {
                var stalled: [RawConnection] = []
                // Together the stalled requests send 32 MiB minus a kilobyte.
                for length in Array(repeating: 8_380_000, count: 4) + Array(repeating: 1000, count: 30) {
                    let connection = try RawConnection(address)
                    try connection.send(post(length: length, token: "wrong"))
                    // Sending may fail: a server that has refused the request reads no more.
                    _ = try? connection.send(String(repeating: "a", count: length - 1))
                    stalled.append(connection)
                }
                let valid = try RawConnection(address)
                try valid.send(post(length: 30_000, token: "right") + String(repeating: "b", count: 20_000))
                while server.server.counters[0].bufferedBytes < 20_000 { sched_yield() }
                try valid.send(String(repeating: "b", count: 10_000))
                #expect(try valid.answer()?.body == "30000")
                for connection in stalled { #expect(try connection.answer()?.status == 401) }
            }
        }
    }

    @Test func `headers may use half of the memory limit, admitted bodies all of it`() throws {
        var limits = HTTPLimits()
        limits.maximumBufferedBytes = 100
        let counter = ConnectionCounter(limits)
        let peer = PeerAddress()
        #expect(counter.count(50, of: peer, isAdmitted: false))
        #expect(!counter.hasRoom)
        #expect(!counter.count(1, of: peer, isAdmitted: false))
        #expect(counter.count(49, of: peer, isAdmitted: true))
        #expect(!counter.count(1, of: peer, isAdmitted: true))
    }

    @Test func `each peer has a memory limit of its own, and peers on this machine are not counted`() {
        var limits = HTTPLimits()
        limits.maximumBufferedBytesPerPeer = 100
        let counter = ConnectionCounter(limits)
        let (near, other) = (peer("203.0.113.1"), peer("203.0.113.2"))
        #expect(counter.count(100, of: near, isAdmitted: true))
        #expect(!counter.count(1, of: near, isAdmitted: true))
        #expect(counter.count(100, of: other, isAdmitted: true))
        #expect(counter.count(-2, of: near, isAdmitted: true))
        #expect(counter.count(1, of: near, isAdmitted: true))
        for local in [PeerAddress(), peer("127.0.0.1"), peer("127.9.9.9")] {
            #expect(local.isLocal)
            #expect(counter.count(1000, of: local, isAdmitted: true))
        }
        for remote in ["126.0.0.1", "128.0.0.1", "0.0.0.0"] { #expect(!peer(remote).isLocal) }
    }
}

/// `POST /guarded`, which admits requests with `Authorization: right` and answers with the length of the
/// body.
private final class GuardedRoute: Sendable {
    private let judgedCount = Atomic(0)
    private let handledCount = Atomic(0)

    var judged: Int { judgedCount.load(ordering: .relaxed) }
    var handled: Int { handledCount.load(ordering: .relaxed) }

    var route: HTTPRoute {
        HTTPRoute(
            .post, "/guarded", body: .collected(maximumBytes: 8 << 20),
            makeHandlers: { _ in
                HTTPRoute.Handlers { head in
                    self.judgedCount.add(1, ordering: .relaxed)
                    #expect(head.body.isEmpty && head.admission == nil)
                    let isRight = head.field(HTTPFieldName("authorization"))?.elementsEqual("right".utf8)
                    return isRight ?? false ? .admitted(mark: 1) : .refused(HTTPResponse(.unauthorized))
                } handle: { request, _ in
                    self.handledCount.add(1, ordering: .relaxed)
                    #expect(request.admission != nil)
                    return HTTPResponse(.ok, text: "\(request.body.count)")
                }
            })
    }
}

private func post(length: Int, token: String, _ fields: String = "") -> String {
    "POST /guarded HTTP/1.1\r\nHost: a\r\nAuthorization: \(token)\r\nContent-Length: \(length)\r\n\(fields)\r\n"
}

/// An IPv4 peer as the kernel reports it.
private func peer(_ address: String) -> PeerAddress {
    var peer = PeerAddress()
    let bytes = [0xFF, 0xFF] + address.split(separator: ".").compactMap { UInt8($0) }
    withUnsafeMutableBytes(of: &peer) { raw in
        for (index, byte) in bytes.enumerated() { raw[10 + index] = byte }
    }
    return peer
}
