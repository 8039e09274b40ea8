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

/// `kill -9` while customers write and persons claim, answer, release and close; `scripts/crash-test` is the long form.
@Suite struct ClaimKillsTests {
    @Test(arguments: ClaimWay.allCases)
    func
        `no handler's reply is decided behind a claim, and no event is lost, whenever the process is killed`(
            _ way: ClaimWay
        ) async throws
    {
        let variables = ProcessEnvironment.variables()
        let kills = variables["CRASH_TEST_CLAIM_KILLS"].flatMap(Int.init) ?? 3
        let seed = variables["CRASH_TEST_SEED"].flatMap(UInt64.init) ?? 1
        let restartable = try await RestartableServer(
            apiToken: way == .api ? Hex.encode(SHA256.hash(Array(Persons.token.utf8))) : nil)
        let crowd = Crowd(connections: 4)
        let persons = Persons(restartable)
        var random = SeededGenerator(seed: seed)
        // Many kills are of young processes, so that 500 take minutes.
        let answers = kills > 100 ? 5...50 : 20...150
        for _ in 0..<kills {
            let count = Int.random(in: answers, using: &random)
            let seed = UInt64.random(in: 0 ... .max, using: &random)
            let server = try restartable.launch()
            try await server.waitForListening()
            let api = way == .api ? try await server.adminAddress() : nil
            try await crowd.write(to: restartable, server) {
                async let work: Void = persons.work(api: api, seed: seed)
                #expect(await crowd.waitForAnswers(count))
                await server.kill()
                await work
            }
        }
        let server = try restartable.launch()
        try await server.waitForListening()
        try await crowd.insist(restartable, server)
        #expect(try await restartable.isFinished(), "some deliveries have not ended")
        await restartable.finish(server)

        let verified = try StoreVerification.run(dataDirectory: restartable.data) { Issue.record("\($0)") }
        #expect(verified.problems == 0)
        try checkConversations(restartable, texts: crowd.texts)
        let journal = try AssignedJournal(restartable.data)
        #expect(journal.outcomesBehindClaims.isEmpty)
        #expect(journal.outcomes > 0 && journal.leftToPersons > 0)
        #expect(persons.acknowledged.isSubset(of: journal.persons), "an acknowledged claim is lost")
        let sent = Dictionary(grouping: restartable.gateway.messages()) {
            $0.message.root["body"]?.string ?? ""
        }
        for text in persons.sent { #expect(Set(sent[text, default: []].map(\.id)).count == 1, "\(text)") }
        let answered = restartable.gateway.messages().compactMap { message in
            message.message.root["body"]?.string.flatMap { $0.hasPrefix("token ") ? $0 : nil }
        }
        #expect(Set(answered.compactMap { $0.split(separator: " ").last }).count == answered.count)
        print(
            "\(kills) kills, \(way), \(persons.sent.count) acknowledged messages, \(persons.acknowledged.count) acknowledged claims, \(journal.outcomes) outcomes, "
                + "\(journal.leftToPersons) events left to persons, \(crowd.texts.count) messages")
    }

    /// Every text is in its conversation once, in sending order.
    private func checkConversations(_ restartable: RestartableServer, texts: [String]) throws {
        let files = ConversationFiles(dataDirectory: restartable.data)
        var found: Set<String> = []
        for summary in try files.list() {
            var last = -1
            for line in try files.lines(of: summary.business, summary.customer)
            where line.direction == .inbound {
                let text = try #require(line.message["body"]?.string)
                let number = try #require(text.split(separator: "-").last.flatMap { Int($0) })
                #expect(found.insert(text).inserted, "twice in its conversation: \(text)")
                #expect(number > last, "out of order: \(text)")
                last = number
            }
        }
        #expect(found == Set(texts))
    }
}

/// How persons reach the server.
enum ClaimWay: CaseIterable, Sendable { case socket, api }

/// Persons who use the control socket or the business API of whichever process runs.
private final class Persons: Sendable {
    private struct State {
        var acknowledged: Set<String> = []
        var sent: Set<String> = []
        var last = 0
    }

    private let restartable: RestartableServer
    private let state = Mutex(State())

    init(_ restartable: RestartableServer) { self.restartable = restartable }

    /// The persons whose claims were acknowledged.
    var acknowledged: Set<String> { state.withLock { $0.acknowledged } }

    /// The texts of the messages that were acknowledged.
    var sent: Set<String> { state.withLock { $0.sent } }

    static let token = "bln_persons"

    /// Works until the process ends; over the API at this address, if there is one.
    func work(api: String?, seed: UInt64) async {
        guard await eventually({ await self.answer("/livez", nil) != nil }) else { return }
        await withTaskGroup { group in
            for place in 0..<3 {
                group.addTask {
                    var random = SeededGenerator(seed: seed &+ UInt64(place))
                    while await self.step(api, &random) {}
                }
            }
        }
    }

    /// One change; false when no process answers.
    private func step(_ api: String?, _ random: inout SeededGenerator) async -> Bool {
        let customer =
            "urn:mbid:\(Int.random(in: 0..<4, using: &random))-\(Int.random(in: 0..<3, using: &random))"
        let person = state.withLock { state in
            state.last += 1
            return "p\(state.last)"
        }
        let claim = "\"person\":{\"id\":\"\(person)\"},\"take\":true"
        let isMessage: Bool
        let status: Int?
        if let api {
            let path = "/v1/businesses/one/conversations/\(ConversationFiles.name(of: CustomerID(customer)))"
            let (operation, body) =
                switch Int.random(in: 0..<5, using: &random) {
                case 0: ("/claim", "{\(claim)}")
                case 1: ("/messages", "{\(claim),\"text\":\"hello of \(person)\"}")
                case 2: ("/close", "")
                default: ("/release", #"{"to":"handler"}"#)
                }
            isMessage = operation == "/messages"
            status = await answer("http://\(api)\(path)\(operation)", body, key: person)
            guard body.contains(claim), status == (isMessage ? 201 : 200) else { return status != nil }
        } else {
            let names = "\"business\":\"\(ServerUnderTest.business)\",\"customer\":\"\(customer)\""
            let text = "\"waitSeconds\":0,\"message\":{\"type\":\"text\",\"body\":\"hello of \(person)\"}"
            let (path, members) =
                switch Int.random(in: 0..<5, using: &random) {
                case 0: ("/conversations/claim", claim)
                case 1: ("/send", "\(claim),\(text)")
                case 2: ("/conversations/close", #""note":"""#)
                default: ("/conversations/release", #""to":"handler""#)
                }
            isMessage = path == "/send"
            status = await answer(path, "{\(names),\(members)}")
            guard members.contains(claim), status == 200 else { return status != nil }
        }
        state.withLock { state in
            state.acknowledged.insert(person)
            if isMessage { state.sent.insert("hello of \(person)") }
        }
        return true
    }

    /// The status of the API; nil when no process answers.
    private func answer(_ url: String, _ body: String, key: String) async -> Int? {
        var request = TransportRequest(
            method: "POST", url: url,
            headers: [("Authorization", "Bearer \(Self.token)"), ("Idempotency-Key", key)],
            body: Array(body.utf8), allowsPlainHTTP: true)
        request.timeout = .seconds(120)
        // An interrupted request has no status.
        return try? await restartable.transport.send(request).status
    }

    /// The status; nil when no process answers.
    private func answer(_ path: String, _ body: String?) async -> Int? {
        // An interrupted request has no status.
        try? await restartable.transport.control(
            path, method: body == nil ? "GET" : "POST", body: Array((body ?? "").utf8),
            dataDirectory: restartable.data
        ).status
    }
}

/// The journal read without the store's own fold.
private struct AssignedJournal {
    /// The records of outcomes with replies in conversations that a person had.
    private(set) var outcomesBehindClaims: [Int] = []
    private(set) var outcomes = 0
    private(set) var leftToPersons = 0
    /// The persons with a claim.
    private(set) var persons: Set<String> = []

    init(_ data: String) throws {
        var customers: [Int: String] = [:]
        var assigned: Set<String> = []
        for name in try Directory.names(in: data + "/journal").sorted() where name.hasSuffix(".jsonl") {
            let bytes = try File(data + "/journal/" + name, for: .reading).readAll()
            for line in bytes.split(separator: UInt8(ascii: "\n")) {
                let root = try JSONDocument(Array(line)).root
                guard let record = root["record"]?.int, let type = root["type"]?.string else { continue }
                switch type {
                case "message":
                    let customer = root["customer"]?.string ?? ""
                    customers[record] = customer
                    guard root["claims"] != nil else { continue }
                    assigned.insert(customer)
                    if let person = root["person"]?["id"]?.string { persons.insert(person) }
                case "assignment":
                    let customer = root["customer"]?.string ?? ""
                    let isAssigned = ["waiting", "person"].contains(root["state"]?.string)
                    if isAssigned { assigned.insert(customer) } else { assigned.remove(customer) }
                    if let person = root["person"]?["id"]?.string { persons.insert(person) }
                case "outcome" where root["replyCount"]?.int ?? 0 > 0:
                    outcomes += 1
                    let customer = root["of"]?.int.flatMap { customers[$0] } ?? ""
                    if assigned.contains(customer) { outcomesBehindClaims.append(record) }
                case "finished" where root["result"]?.string == "withPerson": leftToPersons += 1
                default: break
                }
            }
        }
    }
}
