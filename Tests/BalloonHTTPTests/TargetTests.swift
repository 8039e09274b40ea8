import Testing

@testable import BalloonHTTP

/// Routes with parameters in their path, and decoded queries.
@Suite struct TargetTests {
    private static let routes = [
        HTTPRoute(.get, "/items/new") { _, _ in HTTPResponse(.ok, text: "new") },
        HTTPRoute(.get, "/items/{id}") { request, _ in
            HTTPResponse(.ok, text: request.parameter("id") ?? "none")
        },
        HTTPRoute(.post, "/items/{id}/parts/{part}", body: .collected(maximumBytes: 10)) { request, _ in
            let parameters = [request.parameter("id"), request.parameter("part"), request.parameter("x")]
            let body = String(decoding: request.body, as: UTF8.self)
            return HTTPResponse(
                .ok, text: parameters.map { $0 ?? "none" }.joined(separator: "|") + "|\(body)")
        },
    ]

    @Test(arguments: [
        ("/items/7", 200, "7"),
        ("/items/new", 200, "new"),
        ("/items/new?x=%FF", 200, "new"),
        ("/items/new%20one", 200, "new one"),
        ("/items/a%2Fb", 200, "a/b"),
        ("/items/%C3%A9", 200, "é"),
        ("/items/a+b", 200, "a+b"),
        ("/items/%FF", 400, "Bad Request\n"),
        ("/items/%C3", 400, "Bad Request\n"),
        ("/items/%zz", 400, "Bad Request\n"),
        ("/items/\(String(repeating: "a", count: 1024))", 200, String(repeating: "a", count: 1024)),
        ("/items/\(String(repeating: "a", count: 1025))", 414, "URI Too Long\n"),
        ("/items/\(String(repeating: "%61", count: 1024))", 200, String(repeating: "a", count: 1024)),
        ("/items/", 404, "Not Found\n"),
        ("/items", 404, "Not Found\n"),
        ("/items/7/", 404, "Not Found\n"),
        ("/items/7/parts/1", 405, "Method Not Allowed\n"),
        ("/%69tems/7", 404, "Not Found\n"),
    ])
    func `a path parameter matches one segment, and is decoded`(_ path: String, _ status: Int, _ body: String)
        async throws
    {
        try await withServer(Self.routes) { server in
            let answer = try #require(try await server.answer(get(path)))
            #expect(answer.status == status)
            #expect(answer.body == body)
        }
    }

    @Test(arguments: [
        "Content-Length: 4\r\n\r\nbody", "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
    ])
    func `the handler of a request with a body reads the parameters of its path`(_ rest: String)
        async throws
    {
        try await withServer(Self.routes) { server in
            let answer = try await server.answer("POST /items/%37/parts/x HTTP/1.1\r\nHost: a\r\n" + rest)
            #expect(answer?.body == "7|x|none|body")
        }
    }

    @Test func `Allow lists the methods of a path with parameters`() async throws {
        try await withServer(Self.routes) { server in
            let answer = try await server.answer(
                "OPTIONS /items/7/parts/1 HTTP/1.1\r\nHost: a\r\n\r\n", hasBody: false)
            #expect(answer?.field("Allow") == "POST, OPTIONS")
        }
    }

    @Test(arguments: [
        ("", []),
        ("a", ["a="]),
        ("a=", ["a="]),
        ("a=1&b=2&a=3", ["a=1", "b=2", "a=3"]),
        ("&a=1&&b=2&", ["a=1", "b=2"]),
        ("a=b=c", ["a=b=c"]),
        ("q=x+y%2Bz", ["q=x y+z"]),
        ("%6E%61me=%C3%A9", ["name=é"]),
        ("a=1;b=2", ["a=1;b=2"]),
    ])
    func `the parameters of a query are decoded in their order`(_ text: String, _ parameters: [String]) throws
    {
        let query = try HTTPQuery(Array(text.utf8)[...])
        #expect(query.parameters.map { "\($0.name)=\($0.value)" } == parameters)
    }

    @Test func `a query finds the first value and all values of a name`() throws {
        let query = try HTTPQuery(Array("a=1&b=2&a=3".utf8)[...])
        #expect(query["a"] == "1" && query["c"] == nil)
        #expect(query.values(of: "a") == ["1", "3"])
    }

    @Test(arguments: ["a=%FF", "%C3=1", "a=%", "a=%1", "a=%zz"])
    func `a query that cannot be decoded is refused as malformed`(_ text: String) {
        #expect(throws: HTTPRefusal.malformedTarget) { try HTTPQuery(Array(text.utf8)[...]) }
    }

    @Test(arguments: [
        (Array(repeating: "a=1", count: 32).joined(separator: "&"), true),
        (Array(repeating: "a=1", count: 33).joined(separator: "&"), false),
        (String(repeating: "n", count: 64), true),
        (String(repeating: "n", count: 65), false),
        ("a=" + String(repeating: "v", count: 2048), true),
        ("a=" + String(repeating: "v", count: 2049), false),
    ])
    func `a query with too many or too long parameters is refused`(_ text: String, _ isAccepted: Bool) {
        let query = Array(text.utf8)[...]
        if isAccepted {
            #expect(throws: Never.self) { try HTTPQuery(query) }
        } else {
            #expect(throws: HTTPRefusal.parametersTooLong) { try HTTPQuery(query) }
        }
    }
}
