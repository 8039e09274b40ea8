import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import MessageStore
import ServerTestSupport
import TestSupport
import Testing

@testable import MessageServer

/// The control socket's routes over a store, without a server around them.
struct ControlRoutesTests {
    private let directory = TemporaryDirectory()
    private let log = LogCollector()
    private let transport: CurlTransport

    init() throws { transport = try CurlTransport() }

    /// A store, and its routes on a socket.
    private struct Served {
        let store: Store
        let http: HTTPServer
        let address: String

        func stop() async {
            await http.stop(within: .seconds(1))
            await store.close()
        }
    }

    private func serve() async throws -> Served {
        let store = try Store.open(
            StoreConfiguration(directory: directory.file("data")), logger: log.logger)
        var scope = OperationScope(store, logger: log.logger)
        scope.isServed = { $0 == ServerUnderTest.business }
        let http = try HTTPServer(
            listeners: [
                HTTPListener(
                    .tcp(host: "127.0.0.1", port: 0),
                    routes: ControlRoutes.make(scope))
            ], shards: 1, logger: log.logger)
        return Served(store: store, http: http, address: "http://\(try await http.start()[0])")
    }

    private func post(_ path: String, _ body: String, _ served: Served) async throws -> (Int, String) {
        let answer = try await transport.send(
            TransportRequest(
                method: "POST", url: served.address + path, body: Array(body.utf8), allowsPlainHTTP: true))
        return (answer.status, String(decoding: answer.body, as: UTF8.self))
    }

    private func get(_ path: String, _ served: Served) async throws -> JSONValue {
        let answer = try await transport.send(
            TransportRequest(url: served.address + path, allowsPlainHTTP: true))
        return try JSONDocument(answer.body).root
    }

    private func append(
        _ id: String, to business: BusinessID = ServerUnderTest.business, in store: Store,
        outbound: Kind? = nil
    ) async {
        let message = ReceivedMessage(
            business: business, customer: CustomerID("urn:mbid:c"), id: MessageID(id),
            message: Array(#"{"id":"\#(id)","v":1,"type":"text","body":"hello"}"#.utf8),
            outboundKind: outbound)
        await withCheckedContinuation { stored in store.append(message) { _ in stored.resume() } }
    }

    @Test func `POST /events/drop ends a pending message, and a repeated call reports it as dropped before`()
        async throws
    {
        let served = try await serve()
        await append("m", in: served.store)
        #expect(served.store.statistics.pendingDeliveries == 1)
        #expect(
            try await post("/events/drop", #"{"job":"a","records":[2]}"#, served) == (200, #"{"records":[]}"#)
        )
        #expect(served.store.statistics.pendingDeliveries == 0)
        #expect(
            try await post("/events/drop", #"{"job":"b","records":[2]}"#, served) == (
                200, #"{"records":[2]}"#
            ))
        let unknown = try await post("/events/drop", #"{"job":"c","records":[77]}"#, served)
        #expect(unknown == (400, #"{"error":"no message has the record 77"}"#))
        #expect(try await post("/events/drop", #"{"job":"d","records":["2"]}"#, served).0 == 400)
        #expect(try await post("/events/drop", #"{"job":7,"records":[2]}"#, served).0 == 400)
        await served.stop()
    }

    @Test func `POST /events/drop ends a leased message only when its business was removed`() async throws {
        let served = try await serve()
        let store = served.store
        store.startRecording { try store.write($0, as: .text) }
        await append("m1", in: store)
        await append("m2", to: ServerUnderTest.otherBusiness, in: store)
        let kept = try #require(await store.nextDelivery(for: ServerUnderTest.business))
        let removed = try #require(await store.nextDelivery(for: ServerUnderTest.otherBusiness))
        let refused = try await post("/events/drop", #"{"job":"a","records":[\#(kept.record)]}"#, served)
        #expect(refused == (400, #"{"error":"message \#(kept.record) is not finished"}"#))
        let dropped = try await post("/events/drop", #"{"job":"b","records":[\#(removed.record)]}"#, served)
        #expect(dropped == (200, #"{"records":[]}"#))
        #expect(store.statistics.pendingDeliveries == 1)
        await served.stop()
    }

    @Test func `a reply is retried and dropped once, and a repeated call reports the earlier result`()
        async throws
    {
        let served = try await serve()
        await append("r", in: served.store, outbound: .text)
        let entry = try #require(served.store.leaseReply())
        try await served.store.settle(entry, .refused(status: 400, reason: "no"))
        let retried = try await post("/replies/retry", #"{"job":"a","replies":["2.1"]}"#, served)
        let record = try #require(served.store.leaseReply()).id.record
        #expect(retried == (200, #"{"replies":[{"reply":"2.1","replay":\#(record)}]}"#))
        let again = try await post("/replies/retry", #"{"job":"b","replies":["2.1"]}"#, served)
        #expect(again == (200, #"{"replies":[{"reply":"2.1","replay":\#(record),"repetition":true}]}"#))
        // The reply is leased, which means that it is being sent.
        let early = try await post("/replies/drop", #"{"job":"c","replies":["\#(record).1"]}"#, served)
        #expect(early == (400, #"{"error":"reply \#(record).1 is currently being sent"}"#))
        served.store.release(
            try #require(
                served.store.queuedReplies(of: ServerUnderTest.business, CustomerID("urn:mbid:c")).first))
        let dropped = try await post("/replies/drop", #"{"job":"d","replies":["\#(record).1"]}"#, served)
        #expect(dropped == (200, #"{"replies":[]}"#))
        let repeated = try await post("/replies/drop", #"{"job":"e","replies":["\#(record).1"]}"#, served)
        #expect(repeated == (200, #"{"replies":[{"reply":"\#(record).1","repetition":true}]}"#))
        #expect(served.store.queuedReplyCount == 0)
        await served.stop()
    }

    @Test func `GET /damage lists the records that POST /repair removes, and a repeated repair removes none`()
        async throws
    {
        let whole = try await serve()
        #expect(try await get("/damage", whole)["segments"]?.elements.count == 0)
        for id in ["m1", "m2"] { await append(id, in: whole.store) }
        await whole.stop()
        let journal = directory.file("data/journal")
        let name = try #require(try Directory.names(in: journal).first)
        var bytes = try File(journal + "/" + name, for: .reading).readAll()
        bytes[bytes.count / 3] ^= 1
        try AtomicFile.write(bytes, to: journal + "/" + name)
        let served = try await serve()
        let damage = try await get("/damage", served)
        #expect(damage["lostRecords"]?[0]?["from"]?.int == 2)
        #expect(damage["isHarmful"]?.bool == true)
        let repaired = try await post("/repair", #"{"job":"a"}"#, served)
        #expect(repaired.0 == 200)
        #expect(repaired.1 == String(decoding: damage.text, as: UTF8.self))
        #expect(try await get("/damage", served)["segments"]?.elements.count == 0)
        // The same job returns its earlier answer, and another job finds no damage.
        #expect(try await post("/repair", #"{"job":"a"}"#, served).1 == repaired.1)
        let nothing = try await post("/repair", #"{"job":"b"}"#, served).1
        #expect(nothing == #"{"lostRecords":[],"segments":[],"heldConversations":0,"isHarmful":false}"#)
        #expect(try Directory.names(in: directory.file("data/damaged/journal")).contains(name))
        await served.stop()
    }
}
