import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import GatewayClient
import HandlerKit
import MessageStore
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import MessageServer

/// Reading conversations and attachments over the API.
@Suite struct ReadingTests {
    private static let base = "/v1/businesses/one/conversations/"

    /// A server with one conversation of `count` messages, each answered, and its path.
    private func server(_ count: Int) async throws -> (ServerUnderTest, String) {
        let server = try await ServerUnderTest.withAPI { $0.api.requestsPerMinute = 100_000 }
        let customer = server.customer()
        for number in 0..<count {
            _ = try await customer.post(
                customer.message(.text, id: MessageID("m-\(number)"), text: "T\(number)"))
        }
        _ = await server.gateway.waitForMessages(count: count, customer: customer.id)
        return (server, Self.base + ConversationFiles.name(of: customer.id))
    }

    private func sequences(_ answer: TransportResponse) throws -> [Int] {
        try #require(try answer.json["lines"]?.elements.compactMap { $0["seq"]?.int })
    }

    /// The path in the field `Link`.
    private func next(_ answer: TransportResponse) -> String? {
        guard let link = answer.header("Link"), link.hasSuffix(">; rel=\"next\"") else { return nil }
        return String(link.dropFirst().prefix { $0 != ">" })
    }

    @Test func `a sent message that was refused has its reason, also after its end`() async throws {
        let (server, _) = try await server(0)
        server.gateway.misbehave(at: .message, .answer(.badRequest))
        let customer = server.customer()
        let path = Self.base + ConversationFiles.name(of: customer.id)
        let message = customer.message(.text, id: MessageID("m"), text: "Hi")
        #expect(try await customer.post(message).status == 200)
        let hasBoth = try await eventually {
            try await server.api(path + "/messages").json["lines"]?.count == 2
        }
        #expect(hasBoth)
        let lines = try await server.api(path + "/messages").json["lines"]
        let id = try #require(lines?[1]?["id"]?.string)
        let read = try await server.api(path + "/messages/" + id).json
        #expect((read["outcome"]?.string, read["status"]?.int) == ("refused", 400))
        #expect(read["reason"]?.string?.isEmpty == false)
        await server.stop()
    }

    @Test func `pages before and after a line have every line once, and the next page is linked`()
        async throws
    {
        let (server, path) = try await server(5)
        #expect(try await eventually { try await sequences(server.api(path + "/messages")).count == 10 })
        let latest = try await server.api(path + "/messages?limit=3")
        #expect(try sequences(latest) == [8, 9, 10])
        var (seen, link) = (try sequences(latest), next(latest))
        while let path = link {
            let page = try await server.api(path)
            seen = try sequences(page) + seen
            link = next(page)
        }
        #expect(seen == Array(1...10))
        let after = try await server.api(path + "/messages?after=4&limit=4")
        #expect(try sequences(after) == [5, 6, 7, 8])
        #expect(try await sequences(server.api(#require(next(after)))) == [9, 10])
        #expect(try await sequences(server.api(path + "/messages?before=1")) == [])
        #expect(try await sequences(server.api(path + "/messages?after=10")) == [])
        #expect(try await sequences(server.api(path + "/messages?before=4&after=1")) == [2, 3])
        let between = try await server.api(path + "/messages?before=5&after=1&limit=2")
        #expect(try sequences(between) == [2, 3])
        #expect(try await sequences(server.api(#require(next(between)))) == [4])
        #expect(try await server.api(path + "/messages?limit=201").problem == "bad-parameter")
        await server.stop()
    }

    @Test func `a conversation has its customer, its state and its last line`() async throws {
        let (server, path) = try await server(1)
        #expect(try await eventually { try await server.api(path).json["lines"]?.int == 2 })
        let answer = try await server.api(path)
        #expect(try answer.json["state"]?.string == "handler")
        #expect(try answer.json["last"]?["direction"]?.string == "outbound")
        #expect(try answer.json["customer"]?.string?.hasPrefix("urn:mbid:") == true)
        #expect(try answer.json["id"]?.string == path.split(separator: "/").last.map(String.init))
        let tag = try #require(answer.header("ETag"))
        #expect(try await server.api(path, headers: [("If-None-Match", tag)]).status == 304)
        await server.stop()
    }

    @Test func `a message is found by its id, and an unknown one is not found`() async throws {
        let (server, path) = try await server(2)
        let found = try await server.api(path + "/messages/m-0")
        #expect(try found.json["line"]?["message"]?["body"]?.string == "T0")
        #expect(try await server.api(path + "/messages/m-9").status == 404)
        #expect(try await server.api(path + "/messages/m-0/attachments/0").status == 404)
        await server.stop()
    }

    @Test(arguments: [
        "..%2f..%2fVERSION", "0", String(repeating: "A", count: 64), String(repeating: "a", count: 64),
    ])
    func `a name that is no conversation of the business is not found`(name: String) async throws {
        let (server, path) = try await server(1)
        for end in ["", "/messages", "/messages/m-0", "/messages/m-0/attachments/0"] {
            #expect(try await server.api(Self.base + name + end).status == 404)
        }
        let other = path.replacing("/one/", with: "/two/")
        #expect(try await server.api(other).status == 404)
        await server.stop()
    }

    @Test func `a business of another token gets the same answer as an unknown business`() async throws {
        let (server, path) = try await server(1)
        let other = try await server.api(path.replacing("/one/", with: "/two/"), TestTokens.operatorOfOne)
        let unknown = try await server.api(path.replacing("/one/", with: "/six/"), TestTokens.operatorOfOne)
        #expect(other.status == 404 && unknown.status == 404)
        let masked = try [other, unknown].map { answer in
            let reference = try #require(try answer.json["reference"]?.string)
            return String(decoding: answer.body, as: UTF8.self).replacing(reference, with: "")
        }
        #expect(masked[0] == masked[1])
        let names = [other, unknown].map { $0.headers.map { $0.name.lowercased() } }
        #expect(names[0] == names[1])
        await server.stop()
    }

    @Test func `an attachment is downloaded whole or in part, and never shown in a browser`() async throws {
        let server = try await ServerUnderTest.withAPI()
        let customer = server.customer()
        let content = (0..<200_000).map { UInt8($0 % 251) }
        let client = try GatewayClient(
            configuration: GatewayConfiguration(
                baseURL: #require(server.gateway.baseURL), mspID: ServerUnderTest.mspID,
                secret: server.secret,
                downloadHosts: [String(#require(server.gateway.origin).dropFirst("http://".count))]),
            logger: server.log.logger)
        let file = try await client.upload(ContentSource(bytes: content), for: ServerUnderTest.business)
        let attachment = String(
            decoding: file.attachment(name: "../Käse\r\n.html", mimeType: "text/html").json, as: UTF8.self)
        let message = #"{"id":"m","v":1,"type":"text","body":"\#u{FFFC}","attachments":[\#(attachment)]}"#
        _ = try await customer.post(customer.message(completing: Array(message.utf8)))
        _ = await server.gateway.waitForMessages(customer: customer.id)
        let path = Self.base + ConversationFiles.name(of: customer.id) + "/messages/m/attachments/0"
        let whole = try await server.api(path)
        #expect(whole.status == 200 && whole.body == content)
        #expect(
            whole.header("Content-Disposition")
                == "attachment; filename=\".._K__se__.html\"; filename*=UTF-8''..%2FK%C3%A4se%0D%0A.html")
        #expect(whole.header("X-Content-Type-Options") == "nosniff")
        let tag = try #require(whole.header("ETag"))
        let part = try await server.api(path, headers: [("Range", "bytes=100-199")])
        #expect(part.status == 206 && part.body == Array(content[100..<200]))
        #expect(part.header("Content-Range") == "bytes 100-199/200000")
        let outside = try await server.api(path, headers: [("Range", "bytes=200000-")])
        #expect(outside.status == 416 && outside.header("Content-Range") == "bytes */200000")
        #expect(try await server.api(path, headers: [("If-None-Match", tag)]).status == 304)
        let changed = [(name: "Range", value: "bytes=0-1"), ("If-Range", "\"other\"")]
        #expect(try await server.api(path, headers: changed).status == 200)
        #expect(try await server.api(path.dropLast() + "1").status == 404)
        await server.stop()
    }

    @Test(arguments: [
        (nil, ByteRange.whole), ("bytes=0-9", .part(0..<10)), ("bytes=0-99", .part(0..<20)),
        ("bytes=5-", .part(5..<20)), ("bytes=-5", .part(15..<20)), ("bytes=-99", .part(0..<20)),
        ("bytes=20-", .unsatisfiable), ("bytes=-0", .unsatisfiable), ("bytes=19-19", .part(19..<20)),
        ("bytes=9-5", .whole), ("bytes=a-b", .whole), ("bytes=0-1,3-4", .whole), ("items=0-1", .whole),
        ("bytes=", .whole), ("bytes=-", .whole), ("bytes=99999999999999999999-", .unsatisfiable),
        ("bytes=0-99999999999999999999", .part(0..<20)), ("Bytes=1-1", .part(1..<2)),
    ])
    func `a range selects bytes, is unsatisfiable or is ignored`(value: String?, range: ByteRange) {
        #expect(ByteRange(value, sizeBytes: 20) == range)
        if value == "bytes=-5" { #expect(ByteRange(value, sizeBytes: 0) == .unsatisfiable) }
    }

    @Test func `a cursor is valid only for its own list, and only unaltered`() throws {
        let cursors = APICursor(secret: .random(byteCount: 32), store: "s")
        let text = cursors.text("57", in: "/a?status=dead")
        #expect(try cursors.position(text, in: "/a?status=dead") == "57")
        for scope in ["/a", "/a?status=dea", "/b?status=dead"] {
            #expect(throws: APIProblem.self) { try cursors.position(text, in: scope) }
        }
        for index in text.indices {
            var altered = text
            altered.replaceSubrange(index...index, with: text[index] == "A" ? "B" : "A")
            #expect(throws: APIProblem.self) { try cursors.position(altered, in: "/a?status=dead") }
        }
        for altered in ["", "A", String(text.dropLast()), text + "A"] {
            #expect(throws: APIProblem.self) { try cursors.position(altered, in: "/a?status=dead") }
        }
    }
}
