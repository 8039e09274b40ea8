import BalloonPOSIX
import BusinessMessages
import Synchronization
import TestSupport
import Testing

@testable import MessageStore

/// The files of assignments, and assignments whose segment is deleted.
@Suite struct AssignmentFileTests {
    private let directory = StoreDirectory()
    private let ana = person("ana", name: "Ana")

    private var file: String {
        directory.path + "/assignments/"
            + ConversationPath.state(ConversationKey(business: business, customer: customer))
    }

    private func items() throws -> [AssignmentFolder.Item] {
        try AssignmentFolder(dataDirectory: directory.path).list()
    }

    private func problems() throws -> [StoreProblem.Kind] {
        let found = Mutex<[StoreProblem.Kind]>([])
        _ = try StoreVerification.run(dataDirectory: directory.path) { problem in
            found.withLock { $0.append(problem.kind) }
        }
        return found.withLock { $0 }
    }

    @Test func `a file says who answers, and is removed when the handler answers again`() async throws {
        let store = try directory.open()
        #expect(!Directory.exists(directory.path + "/assignments"))
        let claimed = try await store.assign(.claim(ana), business, customer)
        #expect(try items().map(\.assignment) == [claimed])
        #expect(try items().map(\.customer) == [customer])
        let released = try await store.assign(.releaseToHandler(note: "done"), business, customer)
        #expect(try items().map(\.assignment) == [released])
        _ = await store.append(message("m1"))
        try await store.finish(try await store.lease(), result: .handled)
        await store.assignmentFiles.rest()
        #expect(try items().isEmpty)
        await store.close()
    }

    @Test func `a start corrects the files of a killed process`() async throws {
        let store = try directory.open()
        let other = CustomerID("urn:mbid:d")
        _ = try await store.assign(.claim(ana), business, customer)
        _ = try await store.assign(.handOff(reason: nil), business, other)
        await store.close()
        try Directory.remove(file)
        let stray = directory.path + "/assignments/b/00/" + String(repeating: "0", count: 64) + ".json"
        try Directory.make(Directory.parent(of: stray))
        try AtomicFile.write(Array("{}\n".utf8), to: stray)
        let reopened = try directory.open()
        await reopened.assignmentFiles.rest()
        #expect(try items().map(\.customer) == [customer, other])
        await reopened.close()
        #expect(try problems().isEmpty)
    }

    @Test func `verify finds a missing, a changed and a superfluous file, and rebuild corrects them`()
        async throws
    {
        let store = try directory.open()
        _ = try await store.assign(.claim(ana), business, customer)
        await store.checkpointer.run(isDue: true)
        await store.journal.flush()
        #expect(try problems().isEmpty)
        let right = try File(file, for: .reading).readAll()
        try Directory.remove(file)
        #expect(try problems() == [.assignmentDiffers])
        let wrong = String(decoding: right, as: UTF8.self).replacing(
            "person\",\"since", with: "closed\",\"since")
        try AtomicFile.write(Array(wrong.utf8), to: file)
        let stray = directory.path + "/assignments/b/00/" + String(repeating: "0", count: 64) + ".json"
        try Directory.make(Directory.parent(of: stray))
        try AtomicFile.write(right, to: stray)
        #expect(try problems() == [.assignmentDiffers, .assignmentDiffers])
        #expect(try await store.rebuild().restoredAssignments == 2)
        #expect(try problems().isEmpty)
        #expect(try File(file, for: .reading).readAll() == right)
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
        var table = AssignmentTable()
        let total = AssignmentTable.maximumEnded * 5 / 4
        for number in 1...total {
            let key = ConversationKey(business: business, customer: CustomerID("c\(number)"))
            table.set(Assignment(state: .closed, record: 0), of: key, by: UInt64(number), in: 1)
        }
        #expect(table.entries.count <= AssignmentTable.maximumEnded * 9 / 8)
        #expect(table.takeDropped().count == total - table.entries.count)
        let latest = ConversationKey(business: business, customer: CustomerID("c\(total)"))
        #expect(table.assignment(of: latest).state == .closed)
    }

    private func closing(_ id: String) -> ReceivedMessage {
        ReceivedMessage(
            business: business, customer: customer, id: MessageID(id),
            message: Array("{\"id\":\"\(id)\",\"type\":\"close\"}".utf8), act: .closes)
    }
}
