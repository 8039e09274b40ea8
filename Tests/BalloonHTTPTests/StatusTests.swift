import Testing

@testable import BalloonHTTP

/// The answers to clients, over a socket.
@Suite struct StatusTests {
    @Test(arguments: [
        (get("/"), 200),
        (get("/below/a/b"), 200),
        (get("/below"), 404),
        (get("/nothing"), 404),
        (get("//"), 404),
        ("GET http://x/ HTTP/1.1\r\nHost: a\r\n\r\n", 200),
        ("GET http://x HTTP/1.1\r\nHost: a\r\n\r\n", 200),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", 405),
        ("POST /echo HTTP/1.1\r\nHost: a\r\n\r\n", 200),
        ("POST /echo HTTP/1.0\r\n\r\n", 200),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n", 413),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551617\r\n\r\n", 400),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4294967297\r\n\r\n", 413),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n", 413),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", 400),
        ("POST /pull HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n", 413),
        ("POST /pull HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n", 413),
        ("POST /pull HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", 400),
        ("GET /\(String(repeating: "a", count: 9000)) HTTP/1.1\r\nHost: a\r\n\r\n", 414),
        (get("/", "X: \(String(repeating: "a", count: 20000))\r\n"), 431),
        (get("/", String(repeating: "X: a\r\n", count: 100)), 431),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: x\r\n\r\n", 417),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
        ("BREW / HTTP/1.1\r\nHost: a\r\n\r\n", 501),
        ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\nHost: a\n\n", 400),
        ("\u{16}\u{3}\u{1}\u{2}", 400),
    ])
    func `an answer has its status, a date and a length`(_ request: String, _ status: Int) async throws {
        try await withServer(sampleRoutes) { server in
            let answer = try #require(try await server.answer(request))
            #expect(answer.status == status)
            #expect(answer.field("Date")?.hasSuffix(" GMT") == true)
            #expect(answer.field("Content-Length") != nil)
        }
    }

    @Test func `HEAD gets the header of GET and no body`() async throws {
        try await withServer(sampleRoutes) { server in
            let answer = try await server.exchange(
                "HEAD / HTTP/1.1\r\nHost: a\r\n\r\nHEAD /nothing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
            )
            let headers = answer.split(separator: "\r\n\r\n")
            #expect(headers.count == 2)
            #expect(headers.first?.contains("200 OK\r\nContent-Length: 4\r\n") == true)
            #expect(headers.last?.hasPrefix("HTTP/1.1 404 ") == true)
        }
    }

    @Test(arguments: [
        ("OPTIONS / HTTP/1.1\r\nHost: a\r\n\r\n", 204, "GET, HEAD, OPTIONS"),
        ("OPTIONS /echo HTTP/1.1\r\nHost: a\r\n\r\n", 204, "POST, OPTIONS"),
        ("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 204, "GET, HEAD, POST, OPTIONS"),
        ("OPTIONS http://a HTTP/1.1\r\nHost: a\r\n\r\n", 204, "GET, HEAD, POST, OPTIONS"),
        ("DELETE / HTTP/1.1\r\nHost: a\r\n\r\n", 405, "GET, HEAD, OPTIONS"),
    ])
    func `the answer to OPTIONS, or with 405, lists the supported methods`(
        _ request: String, _ status: Int, _ allowed: String
    )
        async throws
    {
        try await withServer(sampleRoutes) { server in
            let answer = try #require(try await server.answer(request, hasBody: false))
            #expect(answer.status == status)
            #expect(answer.field("Allow") == allowed)
        }
    }

    @Test func `requests after a refusal are not answered`() async throws {
        try await withServer(sampleRoutes) { server in
            let answer = try await server.exchange("GET / HTTP/1.1\r\n\r\n" + get("/") + get("/"))
            #expect(answer.hasPrefix("HTTP/1.1 400 "))
            #expect(answer.ranges(of: "HTTP/1.1").count == 1)
            #expect(answer.contains("\r\nConnection: close\r\n"))
        }
    }

    @Test func `a client that continues to send gets its refusal, and no reset`() async throws {
        // This limit is longer than a client needs, even on a busy machine.
        try await withServer(sampleRoutes, limit: { $0.lingerTimeout = .seconds(60) }) { server in
            let answer = try await server.withConnection { connection in
                try connection.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 20000000\r\n\r\n")
                // This is far more than the kernel buffers, so the server must read and discard it.
                let kilobyte = String(repeating: "x", count: 1000)
                try connection.send(String(repeating: kilobyte, count: 20_000))
                return try connection.rest()
            }
            #expect(answer.hasPrefix("HTTP/1.1 413 "))
            #expect(answer.ranges(of: "HTTP/1.1").count == 1)
        }
    }

    @Test func `a refusal of the request after HEAD has a body`() async throws {
        try await withServer(sampleRoutes) { server in
            let answers = try await server.exchange(
                "HEAD / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\n\r\n")
            #expect(answers.hasSuffix("\r\n\r\nBad Request\n"))
        }
    }

    @Test func `an answer repeats no bytes of the request`() async throws {
        try await withServer(sampleRoutes) { server in
            for request in [
                get("/s3cret"), "S3CRET /s3cret HTTP/1.1\r\nHost: s3cret\r\n\r\n", get("/", "s3cret\r\n"),
                "GET s3cret HTTP/1.1\r\nHost: s3cret\r\n\r\n",
                "POST /echo HTTP/1.1\r\nHost: s3cret\r\nContent-Length: s3cret\r\n\r\n",
            ] {
                let answer = try #require(try await server.answer(request))
                #expect(answer.status >= 400)
                #expect(!"\(answer)".lowercased().contains("s3cret"))
            }
        }
    }

    @Test(arguments: [HTTPStatus.noContent, .notModified])
    func `an answer without content has neither a length nor a body`(_ status: HTTPStatus) async throws {
        let route = HTTPRoute(.get, "/") { _, _ in
            HTTPResponse(status, body: Array("ignored".utf8), fields: [("ETag", "\"a\"")])
        }
        try await withServer([route]) { server in
            let answers = try await server.exchange(get("/") + get("/", "Connection: close\r\n"))
            #expect(answers.ranges(of: "HTTP/1.1 \(status)\r\nETag: \"a\"\r\n").count == 2)
            #expect(!answers.contains("Content-") && !answers.contains("ignored"))
            #expect(answers.hasSuffix("\r\n\r\n"))
        }
    }
}
