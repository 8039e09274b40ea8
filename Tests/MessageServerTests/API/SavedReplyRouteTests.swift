import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import Logging
import ServerTestSupport
import TestSupport
import Testing

@testable import MessageServer

/// Saved replies: those of the business's file, and those that people write.
@Suite struct SavedReplyRouteTests {
    private static let path = "/v1/businesses/one/saved-replies"
    private static let picker =
        #"{"type":"interactive","interactiveData":{"bid":"com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.icloud.apps.messages.business.extension","data":{"version":"1.0","requestIdentifier":"r","quick-reply":{"summaryText":"Which?","items":[{"identifier":"1","title":"A"},{"identifier":"2","title":"B"}]}}}}"#

    private func server() async throws -> ServerUnderTest {
        try await ServerUnderTest.withAPI {
            var people = PeopleConfiguration(text: "Soon.")
            people.queues = [QueueConfiguration(id: "returns")]
            let text = try? JSONDocument(Array(#"{"title":"Hours","text":"We open at 9."}"#.utf8)).root
            people.savedReplies = text.flatMap { SavedReply(id: "hours", $0) }.map { [$0] } ?? []
            $0.businesses[0].people = people
        }
    }

    private func put(_ server: ServerUnderTest, _ id: String, _ body: String) async throws
        -> TransportResponse
    {
        try await server.api(Self.path + "/" + id, TestTokens.agent, method: "PUT", body: body)
    }

    /// The saved replies as after a restart.
    private func open(_ directory: String) -> SavedReplies {
        SavedReplies(
            dataDirectory: directory, uploads: UploadedFiles(dataDirectory: directory),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    @Test func `texts and pickers are written, listed with the file's, replaced and removed`() async throws {
        let server = try await server()
        #expect(
            try await put(server, "thanks", #"{"title":"Thanks","text":"Thank you, {customer}."}"#).status
                == 200)
        #expect(
            try await put(server, "pick", #"{"title":"Pick","message":\#(Self.picker),"queue":"returns"}"#)
                .status == 200)
        #expect(
            try await put(server, "thanks", #"{"title":"Many thanks","text":"Thank you."}"#).status == 200)
        let list = try #require(try await server.api(Self.path).json["replies"]).elements.map(\.self)
        #expect(list.map { $0["id"]?.string } == ["hours", "pick", "thanks"])
        #expect(list.map { $0["readOnly"]?.bool } == [true, false, false])
        #expect(list.map { $0["kind"]?.string } == ["text", "quickReply", "text"])
        #expect(list[2]["title"]?.string == "Many thanks" && list[1]["queue"]?.string == "returns")
        let removed = try await server.api(Self.path + "/pick", TestTokens.agent, method: "DELETE")
        #expect(removed.status == 200)
        #expect(try await server.api(Self.path).json["replies"]?.elements.count == 2)
        let again = try await server.api(Self.path + "/pick", TestTokens.agent, method: "DELETE")
        #expect(again.status == 404)
    }

    @Test(arguments: [
        ("hours", #"{"title":"x","text":"y"}"#, 409), ("Hours", #"{"title":"x","text":"y"}"#, 400),
        ("a", #"{"title":"x"}"#, 400), ("a", #"{"title":" ","text":"y"}"#, 400),
        ("a", #"{"title":"x","text":"y","message":{}}"#, 400),
        ("a", #"{"title":"x","message":{"type":"x"}}"#, 400),
        ("a", #"{"title":"x","text":"y","queue":"nowhere"}"#, 400), ("a", #"{"title":"x","text":1}"#, 400),
    ])
    func `an invalid saved reply is refused`(id: String, body: String, status: Int) async throws {
        let server = try await server()
        #expect(try await put(server, id, body).status == status)
        #expect(try await server.api(Self.path).json["replies"]?.elements.count == 1)
    }

    @Test func `a file of a saved reply does not expire, and is removed with the last reply`() async throws {
        let server = try await server()
        let upload = try await server.api(
            "/v1/businesses/one/attachments", TestTokens.agent, method: "POST", body: "prices")
        let id = try #require(try upload.json["id"]?.string)
        let file = #"{"id":"\#(id)","name":"prices.pdf","mimeType":"application/pdf"}"#
        let body = #"{"title":"Prices","text":"Our prices.","attachments":[\#(file)]}"#
        #expect(try await put(server, "prices", body).status == 200)
        #expect(try await put(server, "copy", body).status == 200)
        #expect(
            try await put(server, "a", #"{"title":"x","message":\#(Self.picker),"attachments":[\#(file)]}"#)
                .status == 400)
        let shown = try await server.api(Self.path).json["replies"]?.elements.map(\.self).last?["attachments"]
        #expect(shown.map { String(decoding: $0.text, as: UTF8.self) } == "[\(file)]")
        // Another instance, as after a restart.
        let uploads = UploadedFiles(dataDirectory: server.configuration.dataDirectory)
        let business = try #require(server.configuration.businesses.first).businessID
        uploads.markUsed(id, of: business)
        let path = try #require(uploads.path(of: id, for: business))
        try FileStatus.setModified(path, secondsSince1970: 1)
        #expect(try uploads.sweep() == 0 && uploads.path(of: id, for: business) != nil)
        #expect(uploads.path(of: id, for: BusinessID("other")) == nil)
        for reply in ["prices", "copy"] {
            #expect(uploads.path(of: id, for: business) != nil)
            _ = try await server.api(Self.path + "/" + reply, TestTokens.agent, method: "DELETE")
        }
        #expect(uploads.path(of: id, for: business) == nil)
        #expect(try await put(server, "prices", body).status == 422)
    }

    @Test func `a saved reply with one file too many is refused, and changes nothing`() async throws {
        let server = try await server()
        let uploads = UploadedFiles(dataDirectory: server.configuration.dataDirectory)
        let business = try #require(server.configuration.businesses.first).businessID
        func upload() async throws -> String {
            let upload = try await server.api(
                "/v1/businesses/one/attachments", TestTokens.agent, method: "POST", body: "prices")
            return try #require(try upload.json["id"]?.string)
        }
        func write(_ reply: String, _ id: String) async throws -> TransportResponse {
            let file = #"{"id":"\#(id)","name":"prices.pdf","mimeType":"application/pdf"}"#
            return try await put(server, reply, #"{"title":"x","text":"y","attachments":[\#(file)]}"#)
        }
        let first = try await upload()
        #expect(try await write("first", first).status == 200)
        let folder = Directory.parent(of: try #require(uploads.path(of: first, for: business)))
        for number in 1..<UploadedFiles.Limits().files {
            try AtomicFile.write([], to: "\(folder)/\(number)")
        }
        let id = try await upload()
        let refused = try await write("second", id)
        #expect(refused.status == 409 && refused.problem == "conflict")
        #expect(try await server.api(Self.path).json["replies"]?.elements.count == 2)
        #expect(uploads.path(of: id, for: business)?.hasPrefix(folder) == false)
        try Directory.remove("\(folder)/1")
        #expect(try await write("second", id).status == 200)
        await server.stop()
    }

    @Test func `a business has at most 1 MiB of saved replies, and leaves place for others`() async throws {
        let directory = TemporaryDirectory()
        let text = String(repeating: "x", count: SavedReply.maximumBytes)
        func reply(_ id: String, _ text: String) throws -> SavedReply {
            let json = JSONWriter.object(["title": "t", "text": text])
            return try #require(SavedReply(id: id, try JSONDocument(json).root))
        }
        // An older version allowed a business more.
        let older = BusinessesFile.text([BusinessID("a"): 0..<20]) { numbers, business, writer in
            writer.list(business, numbers) { number, writer in
                writer.object(["id": "\(number)", "title": "t", "text": text])
            }
        }
        try AtomicFile.write(older, to: directory.file("saved-replies.json"))
        let replies = open(directory.path)
        #expect(replies[BusinessID("a")].count == 20)
        await #expect(throws: SavedReplies.Refusal.tooLarge) {
            try await replies.change(BusinessID("a"), "more", to: try reply("more", "y"))
        }
        #expect(try await replies.change(BusinessID("a"), "1", to: try reply("1", "y")))
        for number in 0..<15 {
            #expect(
                try await replies.change(BusinessID("b"), "\(number)", to: try reply("\(number)", text)))
        }
        await #expect(throws: SavedReplies.Refusal.tooLarge) {
            try await replies.change(BusinessID("b"), "15", to: try reply("15", text))
        }
        #expect(try await replies.change(BusinessID("b"), "0", to: try reply("0", "y")))
        #expect(try await replies.change(BusinessID("b"), "15", to: try reply("15", text)))
        let restarted = open(directory.path)
        #expect(restarted[BusinessID("a")].count == 20 && restarted[BusinessID("b")].count == 16)
    }

    @Test func `a saved reply that the disk refuses leaves its files uploaded`() async throws {
        let directory = TemporaryDirectory()
        let business = BusinessID("b")
        let uploads = UploadedFiles(dataDirectory: directory.path)
        let upload = try uploads.begin(for: business, token: "crm")
        try upload.append([1])
        let id = try upload.finish()
        let file = #"{"id":"\#(id)","name":"prices.pdf","mimeType":"application/pdf"}"#
        let text = #"{"title":"t","text":"x","attachments":[\#(file)]}"#
        let reply = try #require(SavedReply(id: "a", try JSONDocument(Array(text.utf8)).root))
        let plain = #"{"title":"t","text":"x"}"#
        let other = try #require(SavedReply(id: "b", try JSONDocument(Array(plain.utf8)).root))
        let replies = open(directory.path)
        // A directory cannot be replaced by a file.
        try Directory.make(directory.file("saved-replies.json"))
        await #expect(throws: SystemError.self) { try await replies.change(business, "a", to: reply) }
        try Directory.removeEmpty(directory.file("saved-replies.json"))
        #expect(try await replies.change(business, "b", to: other))
        let kept = try #require(uploads.path(of: id, for: business))
        #expect(try File(kept, for: .reading).readAll() == [1])
        #expect(try await replies.change(business, "a", to: reply))
        // It is no upload any more, and does not expire.
        let saved = try #require(uploads.path(of: id, for: business))
        try FileStatus.setModified(saved, secondsSince1970: 1)
        #expect(try uploads.sweep() == 0 && uploads.path(of: id, for: business) == saved)
        #expect(open(directory.path)[business] == [reply, other])
    }

    @Test func `a message that is as deep as a body may be is read again after a restart`() async throws {
        let server = try await server()
        // The body and the message are two of the levels.
        let levels = APIRequest.bodyLimits.maximumDepth - 2
        func body(_ levels: Int) -> String {
            let (begin, end) = (String(repeating: "[", count: levels), String(repeating: "]", count: levels))
            return #"{"title":"Deep","message":\#(Self.picker.dropLast()),"x":\#(begin)\#(end)}}"#
        }
        #expect(try await put(server, "deeper", body(levels + 1)).problem == "bad-json")
        #expect(try await put(server, "deep", body(levels)).status == 200)
        let business = try #require(server.configuration.businesses.first).businessID
        #expect(open(server.configuration.dataDirectory)[business].map(\.id) == ["deep"])
        await server.stop()
    }

    @Test func `the file is read again, and a damaged one is never replaced`() async throws {
        let directory = TemporaryDirectory()
        let business = BusinessID("b")
        let root = try JSONDocument(Array(#"{"title":"t","text":"x"}"#.utf8)).root
        let reply = try #require(SavedReply(id: "a", root))
        #expect(try await open(directory.path).change(business, "a", to: reply))
        #expect(open(directory.path)[business] == [reply])
        #expect(try await !open(directory.path).change(business, "b", to: nil))
        let file = directory.file("saved-replies.json")
        for damaged in [
            "{", #"{"format":2,"businesses":{}}"#, #"{"format":1,"businesses":{"b":[{"id":"a"}]}}"#,
        ] {
            try AtomicFile.write(Array(damaged.utf8), to: file)
            await #expect(throws: SavedReplies.Refusal.self) {
                try await open(directory.path).change(business, "a", to: reply)
            }
            #expect(try File(file, for: .reading).readAll() == Array(damaged.utf8))
        }
    }
}
