import BalloonPOSIX
import BusinessMessages
import Synchronization
import TestSupport
import Testing

@testable import MessageStore

/// The list of assignments without a server, and assignments whose segment is deleted.
@Suite struct AssignmentListTests {
    private let directory = StoreDirectory()
    private let ana = person("ana", name: "Ana")

    private func listed() throws -> [Store.AssignedConversation] {
        try JournalFiles(dataDirectory: directory.path).assignedConversations().conversations
    }

    private func problems() throws -> [StoreProblem.Kind] {
        let found = Mutex<[StoreProblem.Kind]>([])
        _ = try StoreVerification.run(dataDirectory: directory.path) { problem in
            found.withLock { $0.append(problem.kind) }
        }
        return found.withLock { $0 }
    }

    @Test func `the journal lists who answers, until the handler answers again`() async throws {
        let store = try directory.open()
        #expect(try listed().isEmpty)
        let claimed = try await store.assign(.claim(ana), business, customer)
        #expect(try listed().map(\.assignment) == [claimed])
        #expect(try listed().map(\.customer) == [customer])
        let released = try await store.assign(.releaseToHandler(note: "done"), business, customer)
        #expect(try listed().map(\.assignment) == [released])
        _ = await store.append(message("m1"))
        try await store.finish(try await store.lease(), result: .handled)
        await store.journal.flush()
        #expect(try listed().isEmpty)
        await store.close()
    }

    @Test(arguments: [true, false])
    func `the list is the same with and without a snapshot, oldest first`(keepsSnapshot: Bool) async throws {
        let store = try directory.open()
        let other = CustomerID("urn:mbid:d")
        let claimed = try await store.assign(.claim(ana), business, customer)
        let waiting = try await store.assign(.handOff(reason: "agent"), business, other)
        await store.close()
        if !keepsSnapshot { try Directory.remove(directory.path + "/snapshot") }
        #expect(try listed().map(\.assignment) == [claimed, waiting])
        let reopened = try directory.open()
        let closed = try await reopened.assign(.close, business, customer)
        #expect(try listed().map(\.assignment) == [waiting, closed])
        await reopened.close()
        #expect(try listed().map(\.customer) == [other, customer])
    }

    @Test func `a damaged journal lists what is left, and says where it is damaged`() async throws {
        let store = try directory.open()
        _ = await store.append(message("m1"))
        let claimed = try await store.assign(.claim(ana), business, CustomerID("urn:mbid:d"))
        await store.close()
        try Directory.remove(directory.path + "/snapshot")
        let segment = directory.path + "/journal/" + (try #require(try directory.segments().min()))
        let text = String(decoding: try File(segment, for: .reading).readAll(), as: UTF8.self)
        try AtomicFile.write(Array(text.replacing("\"m1\"", with: "\"m2\"").utf8), to: segment)
        let (found, damage) = try JournalFiles(dataDirectory: directory.path).assignedConversations()
        #expect(found.map(\.assignment) == [claimed])
        #expect(damage == .damaged(file: segment, line: 2))
    }

    @Test func `a start removes the copies that earlier versions kept`() async throws {
        let copy = directory.path + "/assignments/b/00/" + String(repeating: "0", count: 64) + ".json"
        try Directory.make(Directory.parent(of: copy))
        try AtomicFile.write(Array("{}\n".utf8), to: copy)
        try Directory.make(directory.path + "/assignments/empty")
        try AtomicFile.write(Array("2\n".utf8), to: directory.path + "/VERSION")
        let store = try directory.open()
        #expect(!Directory.exists(directory.path + "/assignments"))
        await store.close()
    }

    @Test func `an assignment is kept when the segment of its records is deleted`() async throws {
        let store = try directory.open {
            $0.deduplicationWindow = .zero
            $0.maximumSegmentAge = .zero
        }
        let claimed = try await store.assign(.claim(ana), business, customer)
        _ = await store.append(closing("m1"))
        try await store.finish(try await store.lease(), result: .withPerson)
        let waiting = try await store.assign(.handOff(reason: "agent"), business, CustomerID("urn:mbid:d"))
        let segments = try directory.segments()
        for _ in 0..<4 { await store.retention.run() }
        #expect(Set(try directory.segments()).isDisjoint(with: segments.dropLast(2)))
        let closed = store.assignment(of: business, customer)
        #expect(closed.state == .closed)
        #expect(closed.began == claimed.began)
        #expect(store.assignment(of: business, CustomerID("urn:mbid:d")) == waiting)
        await store.close()
        try Directory.remove(directory.path + "/snapshot")
        let reopened = try directory.open()
        #expect(reopened.assignment(of: business, customer) == closed)
        #expect(reopened.assignment(of: business, CustomerID("urn:mbid:d")) == waiting)
        _ = await reopened.append(message("m2"))
        #expect(try await reopened.lease().afterPerson == claimed.began?.sequence)
        await reopened.close()
        #expect(try problems().isEmpty)
    }

    @Test func `of ended assignments only the latest are kept`() {
        var state = JournalState()
        let total = AssignmentTable.maximumEnded * 5 / 4
        state.close(total)
        #expect(state.assignments.entries.count <= AssignmentTable.maximumEnded * 9 / 8)
        let latest = ConversationKey(business: business, customer: CustomerID("c\(total)"))
        #expect(state.assignments.assignment(of: latest).state == .closed)
    }

    private func closing(_ id: String) -> ReceivedMessage {
        ReceivedMessage(
            business: business, customer: customer, id: MessageID(id),
            message: Array("{\"id\":\"\(id)\",\"type\":\"close\"}".utf8), act: .closes)
    }
}
