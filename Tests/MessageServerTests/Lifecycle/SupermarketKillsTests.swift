import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import MessageStore
import ServerTestSupport
import Simulator
import Synchronization
import TestSupport
import Testing

/// A supermarket whose server is killed: four queues, three languages, and twelve people who work over the API.
///
/// Hours, offers and the exact end are those of `SupermarketTests`; `scripts/crash-test` is the long form.
@Suite struct SupermarketKillsTests {
    private static let token = "bln_supermarket"
    private static let people = """
        {"text": "Soon.", "queues": [
         {"id": "general"}, {"id": "returns", "persons": ["p1", "p2", "p3", "p9"], "priority": 5},
         {"id": "bakery", "persons": ["p4", "p5", "p10"]},
         {"id": "french", "persons": ["p6", "p11"], "languages": ["fr"], "priority": 2}],
         "rules": [{"queue": "french", "locale": "fr"}, {"queue": "returns", "intent": "returns"},
          {"queue": "bakery", "intent": "bakery"}]}
        """
    /// The persons of the queues, and their priorities.
    static let persons: [String: Set<String>] = [
        "returns": ["p1", "p2", "p3", "p9"], "bakery": ["p4", "p5", "p10"], "french": ["p6", "p11"],
    ]
    static let priorities = ["returns": 5, "french": 2]

    @Test
    func `every customer is answered by a person of the queue, in order, whenever the process is killed`()
        async throws
    {
        let variables = ProcessEnvironment.variables()
        let kills = min(50, variables["CRASH_TEST_KILLS"].flatMap(Int.init) ?? 3)
        var random = SeededGenerator(seed: variables["CRASH_TEST_SEED"].flatMap(UInt64.init) ?? 1)
        let market = try await RestartableServer(
            settings: #", "people": \#(Self.people)"#,
            apiToken: Hex.encode(SHA256.hash(Array(Self.token.utf8))))
        var customers: [CustomerID] = []
        for _ in 0..<kills {
            let server = try market.launch()
            try await server.waitForListening()
            for _ in 0..<4 {
                customers.append(CustomerID("urn:mbid:c\(customers.count)"))
                try await ask(market, server, customers[customers.count - 1], &random)
            }
            let staff = Staff(market, api: try #require(try await server.adminAddress()), token: Self.token)
            let (seed, steps) = (
                UInt64.random(in: 0 ... .max, using: &random), Int.random(in: 1...40, using: &random)
            )
            // The kill is at a random step of the people, while the next one is on its way.
            let work = Task { await staff.work(seed: seed) }
            #expect(await eventually { staff.steps.load(ordering: .relaxed) >= steps })
            await server.kill()
            await work.value
        }
        let server = try market.launch()
        try await server.waitForListening()
        let staff = Staff(market, api: try #require(try await server.adminAddress()), token: Self.token)
        let work = Task { await staff.work(seed: 0) }
        #expect(try await eventually { try await staff.isIdle() }, "customers still wait")
        work.cancel()
        await work.value
        #expect(try await market.isFinished())
        await market.finish(server)
        #expect(
            try StoreVerification.run(dataDirectory: market.data) { Issue.record("\($0)") }.problems == 0)

        let journal = try SupermarketJournal(market.data)
        #expect(journal.faults == [])
        #expect(journal.waiting.isEmpty && journal.held.isEmpty)
        var answers: [CustomerID: [String]] = [:]
        for message in market.gateway.messages() {
            guard let body = message.message.root["body"]?.string, body.hasPrefix("hello of") else {
                continue
            }
            answers[message.customer, default: []].append(body)
        }
        #expect(Set(answers.keys) == Set(customers))
        print("\(kills) kills, \(customers.count) customers, \(journal.claims) claims")
    }

    /// A customer with an intent and a language asks for a person.
    private func ask(
        _ market: RestartableServer, _ server: ServerProcess, _ id: CustomerID,
        _ random: inout SeededGenerator
    ) async throws {
        var customer = market.customer(server, id: id)
        customer.locale = ["en_GB", "de_DE", "fr_FR"].randomElement(using: &random)
        customer.intent = ["returns", "bakery", "question"].randomElement(using: &random)
        #expect(try await customer.post(customer.message(.text, text: "agent")).status == 200)
    }
}

/// Twelve people: one after the other takes the next customer, answers, and releases or transfers the conversation.
private final class Staff: Sendable {
    private let market: RestartableServer
    private let base: String
    private let token: String
    let steps = Atomic(0)

    init(_ market: RestartableServer, api: String, token: String) {
        (self.market, self.token) = (market, token)
        base = "http://\(api)/v1/businesses/one"
    }

    /// Works until the process ends or the task is cancelled.
    func work(seed: UInt64) async {
        var random = SeededGenerator(seed: seed)
        // The people of a killed process still have their customers.
        guard let held = try? await call("GET", "/conversations?state=person&limit=200") else { return }
        for one in held["conversations"]?.elements.map(\.self) ?? [] {
            if await !serve(one, &random) { return }
        }
        while !Task.isCancelled {
            let person = "p\(Int.random(in: 1...12, using: &random))"
            guard
                let taken = try? await call("POST", "/take-next", #"{"person":{"id":"\#(person)"}}"#)
            else { return }
            if let one = taken["conversation"], await !serve(one, &random) { return }
        }
    }

    /// Whether nobody waits and nobody has a customer.
    func isIdle() async throws -> Bool {
        for state in ["waiting", "person"] {
            let found = try await call("GET", "/conversations?state=\(state)")
            if found["conversations"]?[0] != nil { return false }
        }
        return true
    }

    /// Answers a customer and ends the conversation; false when the process has ended.
    private func serve(_ one: JSONValue, _ random: inout SeededGenerator) async -> Bool {
        guard let id = one["id"]?.string, let person = one["person"]?["id"]?.string else { return true }
        let path = "/conversations/\(id)"
        let message = #"{"text":"hello of \#(person)","person":{"id":"\#(person)"}}"#
        let isTransfer = Int.random(in: 0..<6, using: &random) == 0
        let release = isTransfer ? #"{"to":"waiting","queue":"general"}"# : #"{"to":"handler"}"#
        // An interrupted call has no answer.
        guard (try? await call("POST", path + "/messages", message)) != nil else { return false }
        return (try? await call("POST", path + "/release", release)) != nil
    }

    private func call(_ method: String, _ path: String, _ body: String = "") async throws -> JSONValue {
        var request = TransportRequest(
            method: method, url: base + path,
            headers: [
                ("Authorization", "Bearer \(token)"), ("Idempotency-Key", MessageID.random().rawValue),
            ],
            body: Array(body.utf8), allowsPlainHTTP: true)
        request.timeout = .seconds(120)
        let answer = try await market.transport.send(request)
        steps.add(1, ordering: .relaxed)
        return try JSONDocument(answer.body).root
    }
}

/// The journal read without the store's own fold: who waits in which queue, and whether each claim was allowed and in order.
private struct SupermarketJournal {
    private struct Wait {
        let queue: String
        let since: String
        let record: Int
        /// The number of the batch in which the queue was chosen.
        let batch: Int
    }

    private(set) var faults: [String] = []
    private(set) var claims = 0
    private(set) var held: [String: String] = [:]
    /// The waiting customers; the queue of some is not chosen yet.
    private(set) var waiting: Set<String> = []
    private var placed: [String: Wait] = [:]

    init(_ data: String) throws {
        var (batches, last) = (0, 0)
        for name in try Directory.names(in: data + "/journal").sorted() where name.hasSuffix(".jsonl") {
            let bytes = try File(data + "/journal/" + name, for: .reading).readAll()
            for line in bytes.split(separator: UInt8(ascii: "\n")) {
                let root = try JSONDocument(Array(line)).root
                if let batch = root["batch"]?.int, batch != last { (batches, last) = (batches + 1, batch) }
                guard root["type"]?.equals("assignment") == true, let by = root["by"]?.string, by != "copy",
                    let record = root["record"]?.int, let customer = root["customer"]?.string
                else { continue }
                if by == "claim", let person = root["person"]?["id"]?.string {
                    claim(customer, by: person, batch: batches)
                }
                let state = root["state"]?.string
                held[customer] = state == "person" ? root["person"]?["id"]?.string : nil
                if state == "waiting" { waiting.insert(customer) } else { waiting.remove(customer) }
                placed[customer] = nil
                guard state == "waiting", root["queue"]?["rule"] != nil,
                    let queue = root["queue"]?["id"]?.string
                else { continue }
                placed[customer] = Wait(
                    queue: queue, since: root["since"]?.string ?? "", record: root["waits"]?.int ?? record,
                    batch: batches)
            }
        }
    }

    private mutating func claim(_ customer: String, by person: String, batch: Int) {
        claims += 1
        if let holder = held[customer] { faults.append("\(customer) was claimed from \(holder)") }
        guard let own = placed[customer] else {
            faults.append("\(customer) was in no queue yet")
            return
        }
        func mayTake(_ wait: Wait) -> Bool {
            SupermarketKillsTests.persons[wait.queue].map { $0.contains(person) } ?? true
        }
        func isBefore(_ a: Wait, _ b: Wait) -> Bool {
            let (first, second) = (
                SupermarketKillsTests.priorities[a.queue] ?? 0, SupermarketKillsTests.priorities[b.queue] ?? 0
            )
            return first != second
                ? first > second : a.since != b.since ? a.since < b.since : a.record < b.record
        }
        if !mayTake(own) { faults.append("\(person) is not of the queue \(own.queue)") }
        // A queue that was chosen in the batch before may not have been durable when the claim chose.
        for (other, wait) in placed where wait.batch + 1 < batch && mayTake(wait) && isBefore(wait, own) {
            faults.append("\(other) was before \(customer)")
        }
    }
}
