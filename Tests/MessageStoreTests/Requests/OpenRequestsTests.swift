import BalloonPOSIX
import BusinessMessages
import Dispatch
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

        /// Opens the folder; with `inSingleFiles`, each slice of an operation has one file.
        func open(inSingleFiles: Bool = false, queued: Set<Int> = []) throws -> OpenRequests {
            try OpenRequests(
                directory: directory, logger: log.logger, isQueued: { queued.contains(Int($0.record)) },
                sliceTime: inSingleFiles ? .zero : OpenRequests.sliceTime
            ) { [self] in
                Timestamp(milliseconds: 1_700_000_000_000).advanced(by: .seconds(seconds.withLock { $0 }))
            }
        }

        /// Writes the files of accepted requests with these numbers.
        func write(_ numbers: ClosedRange<Int>) throws {
            let begunAt = Timestamp(milliseconds: 1_700_000_000_000)
            for number in numbers {
                var request = OpenRequest(
                    .signIn, business: BusinessID("b"), customer: CustomerID("c-\(number)"),
                    requestIdentifier: "r-\(number)", entry: ReplyID(record: UInt64(number), index: 0),
                    payload: Array("\"secret-\(number)\"".utf8), stateLifetime: .seconds(600),
                    releaseLifetime: .seconds(120), at: begunAt)
                request.accept(at: begunAt)
                let path = directory + "/" + RequestName(of: "state-\(number)").path
                try Directory.make(Directory.parent(of: path))
                try File(path, for: .creating).append(OpenRequestText.bytes(of: request))
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
        func claimed(
            _ kind: OpenRequest.Kind = .signIn, _ identifier: String = "r-1", business: String = "b",
            customer: String? = "c"
        ) async throws -> String {
            let claim = RequestClaim(
                kind, identifier: identifier, of: BusinessID(business), customer.map { CustomerID($0) })
            return "\(try await requests.update(claim) { request, _ in request?.requestIdentifier ?? "" })"
        }
        #expect(try await claimed() == #"agreed("r-1")"#)
        #expect(try await claimed(customer: nil) == #"agreed("r-1")"#)
        #expect(try await claimed(.classicSignIn) == "other")
        #expect(try await claimed(.payment) == "other")
        #expect(try await claimed(customer: "d") == "other")
        #expect(try await claimed(business: "other") == "unknown")
        #expect(try await claimed(.signIn, "r-2") == "unknown")
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

    @Test func `while the files of a start are read, callbacks are answered and other operations wait`()
        async throws
    {
        let fixture = Fixture()
        try fixture.write(1...2000)
        let requests = try fixture.open(inSingleFiles: true)
        // The callback keeps the reading waiting until the other operation waits, too.
        let hasBegun = Atomic(false)
        let isReleased = DispatchSemaphore(value: 0)
        let callback = Task { [name] in
            try await requests.update(name(1)) { request, now in
                hasBegun.store(true, ordering: .relaxed)
                isReleased.wait()
                return (request?.consume(at: now) ?? false, held: requests.heldCount)
            }
        }
        #expect(await eventually { hasBegun.load(ordering: .relaxed) })
        let count = Task { try await requests.count() }
        #expect(await eventually { requests.heldCount == 1 })
        isReleased.signal()
        let (isConsumed, held) = try await callback.value
        #expect(isConsumed && held == 1)
        #expect(try await consume(3, in: requests))
        #expect(try await count.value == 2000)
        #expect(try await consume(3, in: requests) == false)
        let claim = RequestClaim(
            .signIn, identifier: "r-3", of: BusinessID("b"), CustomerID("c-3"))
        #expect(try await requests.update(claim) { request, _ in request?.phase }.value == .consumed)
        await requests.close()
    }

    @Test func `a store that closes at once does not read all files first`() async throws {
        let fixture = Fixture()
        try fixture.write(1...2000)
        let requests = try fixture.open(inSingleFiles: true)
        #expect(try await consume(1, in: requests))
        await requests.close()
        let restarted = try fixture.open()
        async let count = restarted.count()
        #expect(try await count == 2000)
        await restarted.close()
    }

    /// Runs `operation`; when it has changed the file that it reaches first, checks that `callback` precedes its
    /// end.
    private func expect(
        _ operation: @escaping @Sendable () async throws -> Void,
        toLetRun callback: () async throws -> Void, when hasBegun: () throws -> Bool
    ) async throws {
        let isOver = Mutex(false)
        let running = Task {
            try await operation()
            isOver.withLock { $0 = true }
        }
        #expect(try await eventually { try hasBegun() })
        try await callback()
        #expect(!isOver.withLock { $0 })
        try await running.value
    }

    @Test func `a sweep and an erasure let callbacks run between two files`() async throws {
        let fixture = Fixture()
        let last = 1000
        try fixture.write(1...last)
        let requests = try fixture.open(inSingleFiles: true)
        #expect(try await requests.count() == last)
        let first = try #require((1...last).map(name).min { $0.digits < $1.digits })
        fixture.advance(by: 599)
        try await begin(last + 1, in: requests, customer: "late")
        fixture.advance(by: 1)
        try await expect(
            { try await requests.sweep() },
            toLetRun: {
                let isUsed = try await consume(last + 1, in: requests)
                #expect(isUsed)
            },
            when: { try requests.find(first)?.phase == .expired })
        try await expect(
            {
                let kept = try await requests.erase(keepsRecords: false) { $0.customer != CustomerID("late") }
                #expect(kept == 0)
            },
            toLetRun: {
                let isRecorded = try await requests.update(name(last + 1)) { request, now in
                    request?.record([1], confirmation: nil, at: now)
                }
                #expect(isRecorded == true)
            }, when: { try requests.find(first) == nil })
        #expect(try await requests.count() == 1)
        await requests.close()
    }

    @Test
    func `a file that cannot be read fails what needs all files, and the next operation reads it again`()
        async throws
    {
        let fixture = Fixture()
        try fixture.write(1...3)
        let path = fixture.directory + "/" + name(2).path
        try Directory.rename(path, to: path + ".away")
        try Directory.make(path)
        let requests = try fixture.open()
        requests.begin()
        for _ in 1...2 { await #expect(throws: StoreError.self) { try await requests.count() } }
        #expect(try await consume(1, in: requests))
        try Directory.removeEmpty(path)
        try Directory.rename(path + ".away", to: path)
        #expect(try await requests.count() == 3)
        await requests.close()
    }

    @Test
    func `an ended request whose reply is still queued stays, and no second one is drawn for the reply`()
        async throws
    {
        let fixture = Fixture()
        let requests = try fixture.open(queued: [1])
        let first = try await begin(1, in: requests)
        try await begin(2, in: requests)
        for number in 1...2 { #expect(try await consume(number, in: requests)) }
        fixture.advance(by: 120)
        try await requests.sweep()
        fixture.advance(by: 86_400)
        try await requests.sweep()
        #expect(try requests.find(name(2)) == nil)
        let again = try await requests.request(of: entry(1)) { _ in
            Issue.record("a second request was drawn")
            return ("other", first)
        }
        #expect(again.phase == .expired)
        await requests.close()
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
        #expect(table.surplus(of: business, customer) { _ in false } == nil)
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

    @Test func `with 100,000 open requests only businesses above their share are refused`() {
        var table = RequestTable()
        for number in 1...100_000 {
            let request = request(number, customer: "c-\(number)", business: "b-\(number / 9000)")
            table.set(RequestName(of: "\(number)"), to: request)
        }
        #expect(table.exceededLimit(of: BusinessID("other"), customer, replacing: nil) == nil)
        // The last of the twelve businesses has 1,001 requests.
        #expect(table.exceededLimit(of: BusinessID("b-11"), customer, replacing: nil) == nil)
        #expect(table.exceededLimit(of: BusinessID("b-5"), customer, replacing: nil) == 8333)
        table.set(RequestName(of: "1"), to: nil)
        #expect(table.exceededLimit(of: BusinessID("b-5"), customer, replacing: nil) == nil)
    }

    private func ended(_ number: Int, business: String = "b", isBusy: Bool = false) -> OpenRequest {
        var request = request(number, customer: "c-\(number)", business: business)
        request.expire(at: Timestamp(milliseconds: Int64(number)))
        if isBusy { request.set(payload: [], deadline: nil, isBusy: true) }
        return request
    }

    @Test func `100,000 ended requests refuse nobody`() {
        var table = RequestTable()
        for number in 1...100_000 { table.set(RequestName(of: "\(number)"), to: ended(number)) }
        for business in ["b", "other"] {
            #expect(table.exceededLimit(of: BusinessID(business), customer, replacing: nil) == nil)
        }
    }

    @Test func `the oldest ended request leaves first, but no busy one and none with a queued reply`() {
        var table = RequestTable()
        let business = BusinessID("b")
        // The newest are added first, as after a start.
        for number in (1...RequestTable.maximumEndedOfBusiness).reversed() {
            table.set(RequestName(of: "\(number)"), to: ended(number, isBusy: number == 1))
        }
        func surplus() -> RequestName? { table.endedSurplus(of: business) { $0.record == 2 } }
        #expect(table.endedSurplus(of: BusinessID("other")) { _ in false } == nil)
        #expect(surplus() == RequestName(of: "3"))
        table.set(RequestName(of: "3"), to: nil)
        #expect(surplus() == nil)
        for number in 20_001...20_003 { table.set(RequestName(of: "\(number)"), to: ended(number)) }
        // The fourth ended again later, so it is no longer the oldest.
        table.set(RequestName(of: "4"), to: ended(30_000))
        #expect(surplus() == RequestName(of: "5"))
        table.set(RequestName(of: "5"), to: nil)
        table.set(RequestName(of: "1"), to: ended(1))
        #expect(surplus() == RequestName(of: "1"))
    }

    @Test func `many ended requests with queued replies do not keep the others`() {
        var table = RequestTable()
        for number in 1...RequestTable.maximumEndedOfBusiness {
            table.set(RequestName(of: "\(number)"), to: ended(number))
        }
        var found: RequestName?
        for _ in 1...10 where found == nil {
            found = table.endedSurplus(of: BusinessID("b")) { $0.record <= 250 }
        }
        #expect(found == RequestName(of: "251"))
    }

    @Test
    func `the oldest open request leaves first, but none with a queued reply or a result before the others`()
    {
        var table = RequestTable()
        for number in 1...RequestTable.maximumOfCustomer {
            let now = Timestamp(milliseconds: 0)
            var request = request(number, customer: "another")
            request.accept(at: now)
            if number == 2 {
                #expect(request.consume(at: now) && request.record([1], confirmation: nil, at: now))
            }
            table.set(RequestName(of: "\(number)"), to: request)
        }
        func surplus(_ queued: Set<UInt64>) -> RequestName? {
            table.surplus(of: BusinessID("b"), customer) { queued.contains($0.record) }
        }
        #expect(surplus([]) == RequestName(of: "1"))
        #expect(surplus([1]) == RequestName(of: "3"))
        #expect(surplus([1, 2, 3, 4, 5]) == RequestName(of: "1"))
    }

    @Test(arguments: ["", "A", String(repeating: "A", count: 64), String(repeating: "a", count: 63) + "/"])
    func `a name of other characters is no request`(name: String) {
        #expect(RequestName(name) == nil)
    }
}
