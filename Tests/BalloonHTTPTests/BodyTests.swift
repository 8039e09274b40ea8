import Testing

@testable import BalloonHTTP

/// The delivery of bodies to handlers.
@Suite struct BodyTests {
    @Test(arguments: ["/echo", "/pull"])
    func `a handler gets the complete body, sent with a length or in chunks`(_ path: String) async throws {
        try await withServer(sampleRoutes) { server in
            let post = "POST \(path) HTTP/1.1\r\nHost: a\r\n"
            let byLength = try await server.answer(post + "Content-Length: 10\r\n\r\nhellohello")
            #expect(byLength?.body == "hellohello")
            let byChunks = try await server.answer(
                post + "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nChecksum: x\r\n\r\n"
            )
            #expect(byChunks?.body == "hello")
            #expect(try await server.answer(post + "Content-Length: 0\r\n\r\n")?.body == "")
        }
    }

    @Test(arguments: ["/echo", "/pull"], ["Content-Length: 5", "Transfer-Encoding: chunked"])
    func `a client that expects 100 Continue gets it`(_ path: String, _ framing: String) async throws {
        try await withServer(sampleRoutes) { server in
            try await server.withConnection { connection in
                try connection.send(
                    "POST \(path) HTTP/1.1\r\nHost: a\r\n\(framing)\r\nExpect: 100-continue\r\n\r\n")
                #expect(try connection.answer(hasBody: false)?.header == "HTTP/1.1 100 Continue\r\n\r\n")
                try connection.send(framing.hasPrefix("C") ? "hello" : "5\r\nhello\r\n0\r\n\r\n")
                #expect(try connection.answer()?.body == "hello")
            }
        }
    }

    @Test func `a client that expects 100 Continue is refused at once when its body is too large`()
        async throws
    {
        try await withServer(sampleRoutes) { server in
            let answer = try await server.exchange(
                "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\nExpect: 100-continue\r\n\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 413 "))
        }
    }

    @Test func `a pulled body arrives in pieces with back-pressure`() async throws {
        let count = HTTPRoute(.post, "/count", body: .pulled(maximumBytes: 1 << 30)) { request, responder in
            guard let reader = request.bodyReader else { return HTTPResponse(.internalServerError) }
            Task.detached {
                var total = 0
                var largest = 0
                while let piece = try await reader.next() {
                    total += piece.count
                    largest = max(largest, piece.count)
                }
                responder.respond(HTTPResponse(.ok, text: "\(total) \(largest <= 131_072)"))
            }
            return nil
        }
        try await withServer([count]) { server in
            let size = 3_000_000
            let answer = try await server.answer(
                "POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: \(size)\r\n\r\n"
                    + String(repeating: "x", count: size))
            #expect(answer?.body == "\(size) true")
        }
    }

    @Test func `a body that the handler reads only in part ends the connection`() async throws {
        let ignore = HTTPRoute(.post, "/ignore", body: .pulled(maximumBytes: 1 << 30)) { _, _ in
            HTTPResponse(.ok, text: "ignored")
        }
        try await withServer([ignore]) { server in
            let answers = try await server.exchange(
                "POST /ignore HTTP/1.1\r\nHost: a\r\nContent-Length: 70\r\n\r\n" + get("/ignore"))
            #expect(answers.ranges(of: "HTTP/1.1").count == 1)
            #expect(answers.contains("Connection: close"))
        }
    }

    @Test func `a streamed answer is sent in chunks, but without chunks to an HTTP 1.0 client`() async throws
    {
        let stream = HTTPRoute(.get, "/stream") { _, responder in
            Task.detached {
                let writer = responder.stream(HTTPStreamHead(.ok, contentType: "text/plain"))
                for piece in ["one", "", "two"] { try await writer.write(Array(piece.utf8)) }
                writer.finish()
            }
            return nil
        }
        try await withServer([stream]) { server in
            let chunked = try await server.exchange(get("/stream") + get("/stream", "Connection: close\r\n"))
            #expect(chunked.ranges(of: "\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n").count == 2)
            let whole = try await server.exchange("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            #expect(whole.hasSuffix("\r\n\r\nonetwo"))
            #expect(!whole.contains("chunked") && whole.contains("Connection: close"))
            let head = try await server.exchange(
                "HEAD /stream HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            #expect(head.hasSuffix("\r\n\r\n"))
        }
    }

    @Test func `a streamed answer to HEAD ends with its header, and the connection serves the next request`()
        async throws
    {
        let (ends, end) = AsyncStream.makeStream(of: HTTPStreamError?.self)
        let endless = HTTPRoute(.get, "/endless") { _, responder in
            Task.detached {
                let writer = responder.stream(HTTPStreamHead(.ok, contentType: "text/plain"))
                do throws(any Error) {
                    while true { try await writer.write([0x78]) }
                } catch {
                    end.yield(error as? HTTPStreamError)
                }
            }
            return nil
        }
        try await withServer(sampleRoutes + [endless]) { server in
            let answers = try await server.exchange(
                "HEAD /endless HTTP/1.1\r\nHost: a\r\n\r\n" + get("/", "Connection: close\r\n"))
            #expect(answers.ranges(of: "HTTP/1.1 200 OK\r\n").count == 2)
            #expect(answers.contains("Transfer-Encoding: chunked\r\n\r\nHTTP/1.1 200 OK\r\n"))
            #expect(answers.hasSuffix("\r\n\r\nroot"))
            for await error in ends {
                #expect(error == .disconnected)
                break
            }
        }
    }

    @Test func `writing waits for a slow client, and fails when the client disconnects`() async throws {
        let (ends, end) = AsyncStream.makeStream(of: Int.self)
        let endless = HTTPRoute(.get, "/endless") { _, responder in
            Task.detached {
                let writer = responder.stream(HTTPStreamHead(.ok, contentType: "text/plain"))
                var written = 0
                let piece = [UInt8](repeating: 0x78, count: 65536)
                while (try? await writer.write(piece)) != nil { written += piece.count }
                end.yield(written)
            }
            return nil
        }
        try await withServer([endless]) { server in
            let taken = try await server.withConnection { connection in
                try connection.send(get("/endless"))
                var taken = 0
                while taken < 10_000_000 { taken += try connection.some().count }
                return taken
            }
            for await written in ends {
                // The rest is in both kernel buffers and the server, which together hold less than 20 MB.
                #expect(written < taken + 20_000_000)
                break
            }
        }
    }
}
