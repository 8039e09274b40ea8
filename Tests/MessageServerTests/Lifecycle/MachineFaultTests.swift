import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import Glibc
import MessageStore
import ServerTestSupport
import Simulator
import TestSupport
import Testing

/// Disks and clocks that fail while many customers write; `scripts/crash-test` runs these.
@Suite(
    .enabled(if: Faults.library != nil, "scripts/crash-test compiles the library that causes the faults"),
    .serialized)
struct MachineFaultTests {
    private let faults: Faults
    private let crowd = Crowd(connections: 8)

    init() throws { faults = try Faults() }

    @Test func `a kill at any step of a rotation loses no acknowledged message`() async throws {
        let restartable = try await RestartableServer()
        let steps = 16
        for step in 1...steps {
            let server = try await launch(restartable)
            try await crowd.write(to: restartable, server) {
                #expect(await crowd.waitForAnswers(20))
                // The segment is older than six hours: the next batch ends it.
                try faults.cause(
                    .kill(atChange: step, intervalsAhead: .seconds(7 * 3600)), in: "/data/journal")
                #expect(await server.status() == 137)
            }
        }
        let segments = try Directory.names(in: restartable.data + "/journal").count
        #expect(segments > steps)
        try await end(restartable, kills: steps, "\(steps) kills around a rotation, \(segments) segments")
    }

    @Test func `a kill at any step of a repair loses no other message, and the repair can be repeated`()
        async throws
    {
        let restartable = try await RestartableServer()
        let lost = "lost"
        var server = try restartable.launch("block", environment: faults.environment)
        try await server.waitForListening()
        let texts = ["kept-1", lost, "kept-2", "kept-3"]
        for text in texts {
            let customer = restartable.customer(server, id: CustomerID("urn:mbid:" + text))
            #expect(try await customer.post(customer.message(.text, text: text)).status == 200)
        }
        await server.kill()
        try damage(restartable, at: "\"\(lost)\"")
        var kills = 0
        while true {
            server = try await launch(restartable)
            let damage = try await control("/damage", of: restartable)
            if damage["segments"]?.elements.count == 0 { break }
            #expect(damage["isHarmful"]?.bool == true)
            try faults.cause(.kill(atChange: kills + 1))
            // A server that is killed sends no answer.
            let answer = try? await control("/repair", #"{"job":"repair"}"#, of: restartable)
            if answer?["segments"] != nil {
                try faults.cause(.none)
                break
            }
            #expect(await server.status() == 137)
            kills += 1
            try #require(kills < 100, "the repair never ends")
        }
        #expect(kills > 5)
        #expect(try await control("/damage", of: restartable)["segments"]?.elements.count == 0)
        #expect(!(try Directory.names(in: restartable.data + "/damaged/journal")).isEmpty)
        #expect(try await restartable.isFinished(), "some deliveries have not ended")
        await restartable.finish(server)
        let verified = try StoreVerification.run(dataDirectory: restartable.data) { Issue.record("\($0)") }
        #expect(verified.problems == 0)
        let answered = restartable.gateway.messages().compactMap {
            $0.message.root["body"]?.string?.split(separator: " ").last.map(String.init)
        }
        #expect(Set(answered) == Set(texts).subtracting([lost]))
        print(
            "\(kills) kills around a repair; \(answered.count) of \(texts.count) messages answered, 1 dead letter"
        )
    }

    @Test(arguments: [EIO, EROFS, ENOSPC], ["/data/", "/data/journal/", "/data/conversations/"])
    func `a disk that fails while customers write loses no acknowledged message`(
        _ code: Int32, _ part: String
    ) async throws {
        let restartable = try await RestartableServer()
        let rounds = 4
        for round in 1...rounds {
            let server = try await launch(restartable)
            try await crowd.write(to: restartable, server) {
                #expect(await crowd.waitForAnswers(20))
                try faults.cause(.error(code), in: part)
                if part.contains("conversations") {
                    #expect(await crowd.waitForAnswers(20))
                } else {
                    #expect(await crowd.waitForRefusals(20))
                }
                // Every second round ends with a kill on the failing disk.
                if round % 2 == 1 {
                    try faults.cause(.none)
                    #expect(await crowd.waitForAnswers(20))
                }
                await server.kill()
            }
        }
        try await end(
            restartable, kills: rounds, "\(rounds) kills, \(String(cString: strerror(code))) in \(part)")
    }

    @Test(.enabled(if: SmallDisk.isAllowed, "mounting a file system takes root"))
    func `a full or read-only file system loses no acknowledged message`() async throws {
        let disk = try SmallDisk(bytes: 32 << 20)
        let restartable = try await RestartableServer(disk: disk)
        let filler = try File(disk.path + "/filler", for: .appending)
        let rounds = 4
        for round in 1...rounds {
            let server = try await launch(restartable)
            try await crowd.write(to: restartable, server) {
                #expect(await crowd.waitForAnswers(20))
                while (try? filler.append([UInt8](repeating: 1, count: 4096))) != nil {}
                #expect(await crowd.waitForRefusals(20))
                if round % 2 == 1 {
                    try filler.truncate(to: 0)
                    #expect(await crowd.waitForAnswers(20))
                }
                await server.kill()
            }
            try filler.truncate(to: 0)
        }
        withExtendedLifetime(filler) {}
        try await end(restartable, kills: rounds, "\(rounds) kills, a full file system")
    }

    @Test(arguments: [90, -90, 7200, -7200, 100 * 86_400, -100 * 86_400])
    func `a wall clock that jumps loses no acknowledged message, and delays none when it is right again`(
        _ seconds: Int
    ) async throws {
        let restartable = try await RestartableServer()
        let rounds = 3
        for _ in 1...rounds {
            let server = try await launch(restartable)
            try await crowd.write(to: restartable, server) {
                #expect(await crowd.waitForAnswers(20))
                try faults.cause(.wallClock(ahead: .seconds(seconds)))
                // When the clock is off by more than the token's window, the server refuses every token.
                if abs(seconds) < 300 {
                    #expect(await crowd.waitForAnswers(20))
                } else {
                    #expect(await crowd.waitForRefusals(100))
                }
                try faults.cause(.none)
                #expect(await crowd.waitForAnswers(20))
                await server.kill()
            }
        }
        try await end(
            restartable, kills: rounds, "\(rounds) kills, a clock \(seconds) seconds ahead", mayExpire: true)
    }

    @Test func `the check finds an acknowledged message that a disk dropped`() async throws {
        let restartable = try await RestartableServer()
        let server = try await launch(restartable)
        try await crowd.write(to: restartable, server) {
            #expect(await crowd.waitForAnswers(20))
            try faults.cause(.drop)
            #expect(await crowd.waitForAnswers(20))
            await server.kill()
        }
        let last = try await launch(restartable)
        try await crowd.insist(restartable, last)
        #expect(try await restartable.isFinished(), "some deliveries have not ended")
        await restartable.finish(last)
        withKnownIssue("the disk dropped it") { try crowd.check(restartable, kills: 1) }
    }

    /// Returns the answer of the control socket to a GET, or to a POST when there is a body.
    private func control(
        _ path: String, _ body: String = "", of restartable: RestartableServer
    ) async throws -> JSONValue {
        let answer = try await restartable.transport.control(
            path, method: body.isEmpty ? "GET" : "POST", body: Array(body.utf8),
            dataDirectory: restartable.data)
        return try JSONDocument(answer.body).root
    }

    /// Starts a server without faults, which the test causes later.
    private func launch(_ restartable: RestartableServer) async throws -> ServerProcess {
        try faults.cause(.none)
        let server = try restartable.launch(environment: faults.environment)
        try await server.waitForListening()
        return server
    }

    /// Delivers the rest, and checks every acknowledged message.
    private func end(_ restartable: RestartableServer, kills: Int, _ what: String, mayExpire: Bool = false)
        async throws
    {
        let server = try await launch(restartable)
        try await crowd.insist(restartable, server)
        #expect(try await restartable.isFinished(), "some deliveries have not ended")
        await restartable.finish(server)
        let givenUp = try crowd.check(restartable, kills: kills, mayExpire: mayExpire)
        let verified = try StoreVerification.run(dataDirectory: restartable.data) { Issue.record("\($0)") }
        #expect(verified.problems == 0)
        print("\(what); \(crowd.texts.count) messages, \(givenUp) dead letters, \(verified.lines) lines")
    }

    /// Flips a bit of the text in the journal, as a broken disk does.
    private func damage(_ restartable: RestartableServer, at text: String) throws {
        for name in try Directory.names(in: restartable.data + "/journal") {
            let path = restartable.data + "/journal/" + name
            var bytes = try File(path, for: .reading).readAll()
            guard let place = bytes.firstRange(of: Array(text.utf8)) else { continue }
            bytes[place.lowerBound + 1] ^= 1
            try File(path, for: .overwriting).write(bytes, at: 0)
            return
        }
        Issue.record("no line has the text")
    }
}
