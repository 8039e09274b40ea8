import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import MessageStore
import ServerTestSupport
import Simulator
import Synchronization
import TestSupport
import Testing

/// `kill -9` at moments that a seed chooses, repeatedly, while many customers write; `scripts/crash-test` is
/// the long form.
@Suite struct ManyKillsTests {
    @Test func `acknowledged messages survive a kill at any moment, and are delivered and answered once`()
        async throws
    {
        try await killOften(variable: "CRASH_TEST_KILLS", orElse: 4)
    }

    @Test func `kills between an indicator, its pause and its message lose no message, and keep the order`()
        async throws
    {
        try await killOften(
            variable: "CRASH_TEST_TYPING_KILLS", orElse: 3,
            settings: #", "replies": {"typing": {"seconds": 1, "maximumSeconds": 1}}"#)
    }

    private func killOften(variable: String, orElse count: Int, settings: String = "") async throws {
        let hasPauses = !settings.isEmpty
        let variables = ProcessEnvironment.variables()
        let kills = variables[variable].flatMap(Int.init) ?? count
        let seed = variables["CRASH_TEST_SEED"].flatMap(UInt64.init) ?? 1
        let restartable = try await RestartableServer(settings: settings)
        let crowd = Crowd(connections: 16)
        var random = SeededGenerator(seed: seed)
        var acceptances = 0
        var snapshots = 0
        /// The number of kills after which each reply had first reached the gateway.
        var firstKill: [MessageID: Int] = [:]
        for kill in 0..<kills {
            // These moments are always tested, whatever the seed chooses.
            let moment =
                switch kill {
                case let kill where hasPauses && kill.isMultiple(of: 2): Moment.indicator
                case 0: Moment.acceptance
                case 1: Moment.snapshot
                default: Moment(using: &random)
                }
            if case .acceptance = moment { acceptances += 1 }
            if case .snapshot = moment { snapshots += 1 }
            try await crowd.write(to: restartable, until: moment)
            for reply in restartable.gateway.messages() where firstKill[reply.id] == nil {
                firstKill[reply.id] = kill
            }
        }
        let server = try restartable.launch()
        try await server.waitForListening()
        try await crowd.insist(restartable, server)
        #expect(try await restartable.isFinished(), "some deliveries have not ended")
        await restartable.finish(server)
        let givenUp = try crowd.check(restartable, kills: kills)
        // A kill between the gateway's acceptance and its record makes the reply arrive twice.
        let repeated = restartable.gateway.messages().count { $0.repeats > 0 }
        // The message that the gateway accepts and does not answer may be an indicator, which is sent once.
        #expect(repeated >= (hasPauses ? 0 : acceptances))
        let messages = restartable.gateway.messages()
        crowd.checkOrder(messages)
        let indicators = messages.count { Crowd.isTyping($0) }
        #expect((indicators > 0) == hasPauses)
        // Each process sends a reply at most once; a reply that arrived during a kill may be counted after it.
        for reply in restartable.gateway.messages() {
            let lives = kills - max(0, firstKill[reply.id, default: kills] - 1) + 1
            #expect(
                reply.repeats + 1 <= lives, "a reply was sent \(reply.repeats + 1) times by \(lives) lives")
        }
        let verified = try StoreVerification.run(dataDirectory: restartable.data) { Issue.record("\($0)") }
        #expect(verified.problems == 0)
        #expect(verified.comparedLines == verified.lines)
        print(
            "\(kills) kills, \(acceptances) of them between the gateway's acceptance and our record, "
                + "\(snapshots) at a stop with its snapshot (\(repeated) replies sent again, \(indicators) indicators); \(crowd.texts.count) messages, "
                + "\(givenUp) dead letters, \(verified.lines) lines compared with the journal")
    }
}
