import Testing

@testable import BalloonHTTP

/// A request that must be parsed, with the expected result.
struct GoodRequest: Sendable, CustomTestStringConvertible {
    let label: String
    let text: String
    var method = HTTPMethod.get
    var path = "/"
    var query: String?
    var framing = BodyFraming.none
    var isPersistent = true

    var testDescription: String { label }

    init(
        _ label: String, _ lines: String, _ method: HTTPMethod = .get, _ path: String = "/",
        query: String? = nil,
        _ framing: BodyFraming = .none, isPersistent: Bool = true
    ) {
        self.label = label
        text = lines
        self.method = method
        self.path = path
        self.query = query
        self.framing = framing
        self.isPersistent = isPersistent
    }
}

let goodRequests = [
    GoodRequest("plain", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
    GoodRequest("a POST without a length", "POST /a HTTP/1.1\r\nHost: a\r\n\r\n", .post, "/a"),
    GoodRequest("a PUT without a length", "PUT / HTTP/1.0\r\n\r\n", .put, isPersistent: false),
    GoodRequest("a PATCH without a length", "PATCH / HTTP/1.1\r\nHost: a\r\n\r\n", .patch),
    GoodRequest("empty lines before", "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
    GoodRequest("path and query", "GET /a/b?c=d?e HTTP/1.1\r\nHost: a\r\n\r\n", .get, "/a/b", query: "c=d?e"),
    GoodRequest("empty query", "GET /? HTTP/1.1\r\nHost: a\r\n\r\n", .get, "/", query: ""),
    GoodRequest("percent", "GET /%41%7e HTTP/1.1\r\nHost: a\r\n\r\n", .get, "/%41%7e"),
    GoodRequest(
        "all path bytes", "GET /aZ09-._~!$&'()*+,;=:@ HTTP/1.1\r\nHost: a\r\n\r\n", .get,
        "/aZ09-._~!$&'()*+,;=:@"),
    GoodRequest(
        "absolute form", "GET http://b.example:81/x?y HTTP/1.1\r\nHost: a\r\n\r\n", .get, "/x", query: "y"),
    GoodRequest("absolute form, https", "GET HTTPS://b/x HTTP/1.1\r\nHost: a\r\n\r\n", .get, "/x"),
    GoodRequest("absolute form without path", "GET http://b HTTP/1.1\r\nHost: a\r\n\r\n", .get, ""),
    GoodRequest("asterisk", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", .options, "*"),
    GoodRequest("minor version above 1", "GET / HTTP/1.9\r\nHost: a\r\n\r\n"),
    GoodRequest("HTTP/1.0 without Host", "GET / HTTP/1.0\r\n\r\n", isPersistent: false),
    GoodRequest("HTTP/1.0 keep-alive", "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"),
    GoodRequest("close", "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", isPersistent: false),
    GoodRequest(
        "close in a list", "GET / HTTP/1.1\r\nHost: a\r\nConnection: x, ,CLOSE\t\r\n\r\n", isPersistent: false
    ),
    GoodRequest(
        "close wins", "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nConnection: keep-alive\r\n\r\n",
        isPersistent: false),
    GoodRequest(
        "length", "POST / HTTP/1.1\r\nHost: a\r\ncontent-LENGTH:\t17 \r\n\r\n", .post, "/", .length(17)),
    GoodRequest("length 0", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", .post),
    GoodRequest(
        "length with leading zeros", "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 007\r\n\r\n", .put, "/",
        .length(7)),
    GoodRequest(
        "chunked", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n", .post, "/", .chunked),
    GoodRequest("empty value", "GET / HTTP/1.1\r\nHost: a\r\nX:\r\nY: \t \r\n\r\n"),
    GoodRequest("obs-text in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: ü\r\n\r\n"),
    GoodRequest("tab in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: a\tb\r\n\r\n"),
    GoodRequest("all name bytes", "GET / HTTP/1.1\r\nHost: a\r\n!#$%&'*+-.^_`|~aZ09: x\r\n\r\n"),
    GoodRequest("host with port", "GET / HTTP/1.1\r\nHost: a.b-c_d:65535\r\n\r\n"),
    GoodRequest("host with empty port", "GET / HTTP/1.1\r\nHost: a:\r\n\r\n"),
    GoodRequest("IPv4 host", "GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n"),
    GoodRequest("IPv6 host", "GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n"),
    GoodRequest("IPv6 host, full", "GET / HTTP/1.1\r\nHost: [1:2:3:4:5:6:7:aBcD]\r\n\r\n"),
    GoodRequest("IPv6 host, gap at the end", "GET / HTTP/1.1\r\nHost: [fe80::]\r\n\r\n"),
    GoodRequest("IPv6 host, IPv4 at the end", "GET / HTTP/1.1\r\nHost: [::ffff:127.0.0.1]\r\n\r\n"),
    GoodRequest(
        "expectation", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: 100-Continue\r\n\r\n",
        .post,
        "/", .length(1)),
]

/// A request that must be refused, with the expected reason.
struct BadRequest: Sendable, CustomTestStringConvertible {
    let text: String
    let refusal: HTTPRefusal

    var testDescription: String { text.debugDescription }

    init(_ refusal: HTTPRefusal, _ text: String) {
        self.text = text
        self.refusal = refusal
    }

    /// A valid request except for this field line.
    init(_ refusal: HTTPRefusal, field: String) {
        self.init(refusal, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\(field)\r\n\r\n")
    }

    /// A valid request except for its framing.
    init(_ refusal: HTTPRefusal, framing: String) {
        self.init(refusal, "POST / HTTP/1.1\r\nHost: a\r\n\(framing)\r\n\r\n")
    }

    /// A valid request except for its `Host`.
    init(_ refusal: HTTPRefusal, host: String) {
        self.init(refusal, "GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n")
    }

    /// A valid request except for its target.
    init(_ refusal: HTTPRefusal, target: String) {
        self.init(refusal, "GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
    }
}

let badRequests: [BadRequest] = [
    badRequestLines, badVersions, badMethods, badTargets, badFields, badLineEnds, badHosts, badHostCounts,
    badLengths, badFramings, badRest, badCodings, unknownCodings,
].flatMap(\.self)

private let badRequestLines: [BadRequest] = [
    "GET / HTTP/1.1 \r\nHost: a\r\n\r\n", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", " GET / HTTP/1.1\r\n\r\n",
    "GET /  HTTP/1.1\r\nHost: a\r\n\r\n", "GET\t/ HTTP/1.1\r\n\r\n", "GET / http/1.1\r\n\r\n",
    "GET / HTTP/1.1x\r\n\r\n", "GET / HTTP/1\r\n\r\n", "GET / HTTP/1.10\r\n\r\n", "GET / HTTP/ 1.1\r\n\r\n",
    "GET / HTTP/1.x\r\n\r\n", "GET / HTTP/-1.1\r\n\r\n", "GET /\r\n\r\n", "GET / \r\n\r\n", "GET\r\n\r\n",
    "G(T / HTTP/1.1\r\n\r\n", "\u{0}GET / HTTP/1.1\r\n\r\n", "\u{16}\u{3}\u{1}\r\n",
    "\r\n\r\n\r\nGET / HTTP/1.1\r\n\r\n", "GET / a HTTP/1.1\r\nHost: a\r\n\r\n", "{}\r\n\r\n",
    "PRI * HTTP/2.0 \r\n\r\n", "\nGET / HTTP/1.1\r\n\r\n",
].map { BadRequest(.malformedRequestLine, $0) }

private let badVersions: [BadRequest] = [
    "GET / HTTP/2.0\r\n\r\n", "GET / HTTP/0.9\r\n\r\n", "GET / HTTP/3.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\n",
].map { BadRequest(.unsupportedVersion, $0) }

private let badMethods: [BadRequest] = [
    "get / HTTP/1.1\r\n\r\n", "GETT / HTTP/1.1\r\n\r\n", "TRACE / HTTP/1.1\r\n\r\n",
    "CONNECT a:80 HTTP/1.1\r\n\r\n", "PROPFIND / HTTP/1.1\r\n\r\n", "A / HTTP/1.1\r\n\r\n",
].map { BadRequest(.unknownMethod, $0) }

private let badTargets: [BadRequest] = [
    "a", "*", "//\u{7F}", "/#", "/a#b", "/\"", "/<", "/\\", "/^", "/`", "/{", "/|", "/[", "/é", "/%", "/%4",
    "/%4g", "/%g4", "/\u{0}", "/\u{1}", "/\t", "?a", "a:80", "http:/b/", "http://", "http:///a",
    "http://u@b/", "http://b:x/", "http://b:65536/", "ftp://b/", "http://b,c/", "http://[/", "http://[1]/",
].map { BadRequest(.malformedTarget, target: $0) }

private let badFields: [BadRequest] = [
    " X: a", "\tX: a", " folded", "X : a", "X\t: a", "X", ": a", "X\u{0}: a", "X(: a", "X: \u{0}",
    "X: a\u{1}b",
    "X: \u{7F}", "X: a\u{B}", "X: a\u{C}", "X: a\r\n b", "X: a\r\n\tb", "é: a", "X\r\n: a", "\"X\": a",
    "Connection: clo se", "Connection: close;x",
].map { BadRequest(.malformedField, field: $0) }

private let badLineEnds: [BadRequest] = [
    "GET / HTTP/1.1\nHost: a\n\n", "GET / HTTP/1.1\r\nHost: a\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\n",
    "GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\r\n\r\n",
].map { BadRequest(.malformedLineEnd, $0) }

private let badHosts: [BadRequest] = [
    "", "a b", "a,b", "a/b", "a@b", "a:b", "a:65536", "a:000080", "a:-1", "a:80:80", ":80", "a?",
    "a#", "[", "[]", "[::1", "[::1]a", "[::1]:x", "[1]", "[::1::]", "[:::]", "[1:]", "[:1]", "[12345::]",
    "[1:2:3:4:5:6:7:8:9]", "[::g]", "[1:2:3:4:5:6:7]", "[::1.2.3]", "[::1.2.3.256]", "[v1.a]", "a%41", "é",
    "a\\b", "http://a",
].map { BadRequest(.badHost, host: $0) }

private let badHostCounts: [BadRequest] = [
    BadRequest(.badHost, "GET / HTTP/1.1\r\n\r\n"),
    BadRequest(.badHost, "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"),
    BadRequest(.badHost, "GET / HTTP/1.0\r\nHost: a b\r\n\r\n"),
]

private let badLengths: [BadRequest] = [
    "Content-Length: ", "Content-Length: +1", "Content-Length: -1", "Content-Length: 1 1",
    "Content-Length: 1,1",
    "Content-Length: 1, 1", "Content-Length: 0x1", "Content-Length: 1.0", "Content-Length: 1e1",
    "Content-Length: 18446744073709551617", "Content-Length: 9999999999999999999", "Content-Length: a",
    "Content-Length: 1\r\nContent-Length: 1", "Content-Length: 1\r\nContent-Length: 2", "Content-Length: ١",
].map { BadRequest(.badContentLength, framing: $0) }

private let badFramings: [BadRequest] = [
    "Content-Length: 1\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 0",
    "Transfer-Encoding: gzip, chunked\r\nContent-Length: 1",
].map { BadRequest(.ambiguousFraming, framing: $0) }

private let badRest: [BadRequest] = [
    BadRequest(.ambiguousFraming, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"),
    BadRequest(.unknownExpectation, field: "Expect: 200-ok"),
    BadRequest(.unknownExpectation, field: "Expect: 100-continue, x"),
    BadRequest(.unknownExpectation, field: "Expect:"),
]

private let badCodings: [BadRequest] = [
    "Transfer-Encoding: ", "Transfer-Encoding: identity", "Transfer-Encoding: xchunked",
    "Transfer-Encoding: chunked, chunked", "Transfer-Encoding: chunked, gzip", "Transfer-Encoding: ,chunked",
    "Transfer-Encoding: chunked,", "Transfer-Encoding: \"chunked\"", "Transfer-Encoding: chunked;q=1",
    "Transfer-Encoding: chunk ed", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: gzip;x=\"a\", chunked",
    "Transfer-Encoding: gzip, chunked\r\nTransfer-Encoding: chunked",
].map { BadRequest(.badTransferEncoding, framing: $0) }

private let unknownCodings: [BadRequest] = [
    BadRequest(.unknownTransferCoding, framing: "Transfer-Encoding: gzip, chunked"),
    BadRequest(.unknownTransferCoding, framing: "Transfer-Encoding: gzip,deflate\t,chunked"),
]
