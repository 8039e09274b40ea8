import BalloonPOSIX
import BusinessMessages
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import MessageStore

struct OpenRequestsTests {
    /// A folder of requests with a clock that the test sets.
    private final class Fixture: Sendable {
        let temporary = TemporaryDirectory()
        let log = LogCollector()
        private let seconds = Mutex(0)

        var directory: String { temporary.file("requests") }

        func advance(by seconds: Int) { self.seconds.withLock { $0 += seconds } }

        func open() throws -> OpenRequests {
            try OpenRequests(directory: directory, logger: log.logger) { [self] in
                Timestamp(milliseconds: 1_700_000_000_000).advanced(by: .seconds(seconds.withLock { $0 }))
            }
        }

        /// The names of all files, as `ab/abcd….json`.
        func names() throws -> [String] {
            guard Directory.exists(directory) else { return [] }
            return try Directory.names(in: directory).flatMap { folder in
                try Directory.names(in: directory + "/" + folder).map { folder + "/" + $0 }
            }
        }
    }

    private func entry(_ number: Int) -> ReplyID { ReplyID(record: UInt64(number), index: 0) }

    /// Begins the request of the reply with this number; its state is `state-NUMBER`.
    @discardableResult
    private func begin(
        _ number: Int, in requests: OpenRequests, business: String = "b", customer: String = "c"
    ) async throws -> OpenRequest {
        let entry = entry(number)
        return try await requests.request(of: entry) { now in
            (
                "state-\(number)",
                OpenRequest(
                    .signIn, business: BusinessID(business), customer: CustomerID(customer),
                    requestIdentifier: "r-\(number)", entry: entry,
                    payload: Array("\"secret-\(number)\"".utf8), stateLifetime: .seconds(600),
                    releaseLifetime: .seconds(120), at: now)
            )
        }
    }

    private func name(_ number: Int) -> RequestName { RequestName(of: "state-\(number)") }

    private func consume(_ number: Int, in requests: OpenRequests) async throws -> Bool {
        try await requests.update(name(number)) { request, now in request?.consume(at: now) ?? false }
    }

    @Test func `a request has one file named by the hash of its secret, which only the owner can read`()
        async throws
    {
        let fixture = Fixture()
        let requests = try fixture.open()
        try await begin(1, in: requests)
        let name = name(1)
        #expect(try fixture.names() == [name.digits.prefix(2) + "/" + name.digits + ".json"])
        #expect(try mode(fixture.directory + "/" + name.path) == 0o600)
        #expect(try requests.find(name)?.payload == Array(#""secret-1""#.utf8))
        #expect(try requests.find(RequestName(of: "other")) == nil)
        await requests.close()
    }

    @Test func `a reply that is sent again has the same request, also after a restart`() async throws {
        let fixture = Fixture()
        let requests = try fixture.open()
        let first = try await begin(1, in: requests)
        let second = try await requests.request(of: entry(1)) { _ in
            Issue.record("a second request was drawn")
            return ("other", first)
        }
        #expect(second == first)
        await requests.close()
        let restarted = try fixture.open()
        let third = try await restarted.request(of: entry(1)) { _ in
            Issue.record("another request was drawn after a restart")
            return ("other", first)
        }
        #expect(third == first)
        await restarted.close()
    }

    @Test func `of two callbacks at once one uses the request, and none after a restart`() async throws {
        let fixture = Fixture()
        let requests = try fixture.open()
        try await begin(1, in: requests)
        async let first = consume(1, in: requests)
        async let second = consume(1, in: requests)
        let used = try await [first, second]
        #expect(used.count { $0 } == 1)
        await requests.close()
        let restarted = try fixture.open()
        #expect(try await consume(1, in: restarted) == false)
        #expect(try restarted.find(name(1))?.phase == .consumed)
        await restarted.close()
    }

    @Test func `a sixth open request of a customer ends the oldest, and other customers keep theirs`()
        async throws
    {
        let fixture = Fixture()
        let requests = try fixture.open()
        try await begin(100, in: requests, customer: "d")
        for number in 1...5 {
            try await begin(number, in: requests)
            fixture.advance(by: 1)
        }
        #expect(try requests.find(name(1)) != nil)
        try await begin(6, in: requests)
        #expect(try requests.find(name(1)) == nil)
        #expect(try fixture.names().count == 6)
        #expect(try requests.find(name(100)) != nil)
        await requests.close()
    }

    @Test func `a request is found by the identifier in its message, and its file is removed at its end`()
        async throws
    {
        let fixture = Fixture()
        let requests = try fixture.open()
        try await begin(1, in: requests)
        let customer = try await requests.update("r-1", of: BusinessID("b")) { request, _ in request?.customer
        }
        #expect(customer == CustomerID("c"))
        #expect(try await requests.update("r-1", of: BusinessID("other")) { request, _ in request == nil })
        try await requests.update(of: entry(1)) { request, _ in request = nil }
        #expect(try fixture.names() == [])
        #expect(try await requests.count() == 0)
        await requests.close()
    }

    @Test func `late requests lose their secrets, and their files a day later`() async throws {
        let fixture = Fixture()
        let requests = try fixture.open()
        try await begin(1, in: requests)
        try await requests.update(of: entry(1)) { $0?.accept(at: $1) }
        fixture.advance(by: 599)
        try await requests.sweep()
        #expect(try requests.find(name(1))?.phase == .open)
        fixture.advance(by: 1)
        try await requests.sweep()
        #expect(try requests.find(name(1))?.phase == .expired)
        #expect(try requests.find(name(1))?.payload == nil)
        await requests.close()
        let restarted = try fixture.open()
        fixture.advance(by: 86_400)
        try await restarted.sweep()
        #expect(try fixture.names() == [])
        await restarted.close()
    }

    @Test func `a change that the disk refuses leaves the request as it was`() async throws {
        let fixture = Fixture()
        let requests = try fixture.open()
        try await begin(1, in: requests)
        let path = fixture.directory + "/" + name(1).path
        // A folder in the place of the temporary file: it can neither be replaced nor removed.
        let temporary = "\(path).\(getpid()).new"
        try Directory.make(temporary + "/x")
        await #expect(throws: StoreError.self) { try await consume(1, in: requests) }
        try Directory.removeEmpty(temporary + "/x")
        try Directory.removeEmpty(temporary)
        #expect(try await consume(1, in: requests))
        await requests.close()
    }

    @Test func `a damaged file is skipped, and the log says so`() async throws {
        let fixture = Fixture()
        let requests = try fixture.open()
        try await begin(1, in: requests)
        try await begin(2, in: requests)
        await requests.close()
        try AtomicFile.write(Array("{".utf8), to: fixture.directory + "/" + name(1).path)
        let restarted = try fixture.open()
        #expect(try await restarted.count() == 1)
        #expect(throws: StoreError.self) { try restarted.find(name(1)) }
        #expect(fixture.log.lines.contains { $0.contains("requests are damaged") })
        await restarted.close()
    }

    @Test func `a closed store refuses requests`() async throws {
        let requests = try Fixture().open()
        await requests.close()
        await #expect(throws: StoreError.closed) { try await begin(1, in: requests) }
    }

    @Test func `a hundred requests at once are all durable`() async throws {
        let fixture = Fixture()
        let requests = try fixture.open()
        try await withThrowingDiscardingTaskGroup { group in
            for number in 1...100 {
                group.addTask { try await self.begin(number, in: requests, customer: "c-\(number)") }
            }
        }
        await requests.close()
        let restarted = try fixture.open()
        #expect(try await restarted.count() == 100)
        await restarted.close()
    }

    @Test func `verification reports a damaged request and a foreign name`() async throws {
        let directory = StoreDirectory()
        let store = try directory.open()
        try await begin(1, in: store.requests)
        await store.close()
        func problems() throws -> [StoreProblem.Kind] {
            let found = Mutex<[StoreProblem.Kind]>([])
            _ = try StoreVerification.run(dataDirectory: directory.path) { problem in
                found.withLock { $0.append(problem.kind) }
            }
            return found.withLock { $0 }
        }
        #expect(try problems() == [])
        let folder = directory.path + "/requests/" + name(1).folder
        try AtomicFile.write([], to: folder + "/other.json")
        #expect(try problems() == [.requestDamaged])
        try AtomicFile.write([], to: directory.path + "/requests/" + name(1).path)
        #expect(try problems() == [.requestDamaged, .requestDamaged])
    }
}

struct RequestTableTests {
    private let customer = CustomerID("another")

    @Test func `a customer whose five open requests are busy payments gets no sixth`() {
        var table = RequestTable()
        for number in 1...5 {
            var payment = request(number, customer: "another")
            payment.set(payload: [], deadline: nil, isBusy: true)
            table.set(RequestName(of: "\(number)"), to: payment)
        }
        let business = BusinessID("b")
        #expect(table.surplus(of: business, customer) == nil)
        #expect(table.exceededLimit(of: business, customer, replacing: nil) == 5)
        #expect(table.exceededLimit(of: business, CustomerID("c"), replacing: nil) == nil)
    }

    private func request(_ number: Int, customer: String, business: String = "b") -> OpenRequest {
        OpenRequest(
            .signIn, business: BusinessID(business), customer: CustomerID(customer),
            requestIdentifier: "r-\(number)", entry: ReplyID(record: UInt64(number), index: 0), payload: [],
            stateLifetime: .seconds(600), releaseLifetime: .seconds(120), at: Timestamp(milliseconds: 0))
    }

    @Test func `a business has at most 10,000 open requests, and ended ones do not count`() {
        var table = RequestTable()
        let business = BusinessID("b")
        for number in 1...9999 {
            table.set(RequestName(of: "\(number)"), to: request(number, customer: "c-\(number)"))
        }
        #expect(table.exceededLimit(of: business, customer, replacing: nil) == nil)
        let last = RequestName(of: "10000")
        table.set(last, to: request(10_000, customer: "c"))
        #expect(table.exceededLimit(of: business, customer, replacing: nil) == 10_000)
        #expect(table.exceededLimit(of: business, customer, replacing: last) == nil)
        #expect(table.exceededLimit(of: BusinessID("other"), customer, replacing: nil) == nil)
        var ended = request(10_000, customer: "c")
        ended.expire(at: Timestamp(milliseconds: 1))
        table.set(last, to: ended)
        #expect(table.exceededLimit(of: business, customer, replacing: nil) == nil)
        #expect(table.count == 10_000)
    }

    @Test func `all businesses together have at most 100,000 requests`() {
        var table = RequestTable()
        for number in 1...100_000 {
            let request = request(number, customer: "c-\(number)", business: "b-\(number / 9000)")
            table.set(RequestName(of: "\(number)"), to: request)
        }
        #expect(table.exceededLimit(of: BusinessID("other"), customer, replacing: nil) == 100_000)
        table.set(RequestName(of: "1"), to: nil)
        #expect(table.exceededLimit(of: BusinessID("other"), customer, replacing: nil) == nil)
    }

    @Test(arguments: ["", "A", String(repeating: "A", count: 64), String(repeating: "a", count: 63) + "/"])
    func `a name of other characters is no request`(name: String) {
        #expect(RequestName(name) == nil)
    }
}
