import BalloonPOSIX
import BalloonWire
import RetentionClient
import RetentionMessages
import ServerTestSupport
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import MessageServer

struct StateRefreshTests {
    @Test func `refreshes are spread over the first interval, and later within a fifth of it`() {
        let hour = Duration.seconds(3600)
        for (isFirst, random, pause) in [
            (true, 0.0, Duration.zero), (true, 1, hour), (true, 0.5, .seconds(1800)),
            (false, 0, .seconds(3240)), (false, 1, .seconds(3960)),
        ] {
            let found = StateRefresh.pause(hour, isFirst: isFirst, random: random)
            #expect(abs((found - pause) / .seconds(1)) < 0.001, "\(isFirst) \(random)")
        }
    }

    @Test func `a refresh writes the states that the App Store has, and the server uses them`() async throws {
        let app = try AppUnderTest()
        let api = SimulatedRetentionAPI(
            SimulatedRetentionAPI.App(
                bundleID: app.identity.bundleID, issuerID: app.identity.issuerID, keyID: app.identity.keyID,
                key: app.identity.key.publicKey), .production, logger: LogCollector().logger)
        let url = try await api.start()
        let configuration = try app.configuration { $0.simulators = [.production: url] }
        let log = LogCollector()
        let data = app.directory.file("data")
        let apps = RetentionApps([configuration], dataDirectory: data, logger: log.logger)
        let client = try RetentionAPI(.production, app.identity, simulator: url)
        let stay = try #require(configuration.folder.message("stay"))
        try await client.uploadMessage(stay.id, stay.content)
        let refresh = StateRefresh(apps, dataDirectory: data, logger: log.logger)
        var failing: Set<String> = []
        for state in [RetentionState.pending, .approved] {
            if state == .approved { api.review { _ in .approved } }
            await refresh.refresh(configuration, .production, &failing)
            #expect(failing.isEmpty)
            #expect(apps.app("shop", .production)?.states.messages == [stay.id: state])
        }
        await api.stop()
    }

    @Test func `a failed refresh keeps the states, and the log has the first failure and the next success`()
        async throws
    {
        let app = try AppUnderTest()
        try app.record(.approved)
        let log = LogCollector()
        let data = app.directory.file("data")
        let configuration = try app.configuration()
        let apps = RetentionApps([configuration], dataDirectory: data, logger: log.logger)
        let isBroken = Mutex(true)
        let refresh = StateRefresh(apps, dataDirectory: data, logger: log.logger) { _, _, _ in
            if isBroken.withLock({ $0 }) { throw RetentionAPIError.noAccess }
        }
        var failing: Set<String> = []
        for _ in 0..<3 { await refresh.refresh(configuration, .production, &failing) }
        #expect(failing == ["shop/production"])
        #expect(apps.app("shop", .production)?.states.messages.count == 2)
        isBroken.withLock { $0 = false }
        await refresh.refresh(configuration, .production, &failing)
        #expect(failing.isEmpty)
        #expect(log.lines.count { $0.contains("not refreshed") && $0.contains("warning") } == 1)
        #expect(log.lines.count { $0.contains("can be read from Apple again") } == 1)
    }

    @Test func `a file of states that stays unreadable is logged once, and again after it was readable`()
        throws
    {
        let app = try AppUnderTest()
        try app.record(.approved)
        let log = LogCollector()
        let data = app.directory.file("data")
        let apps = RetentionApps([try app.configuration()], dataDirectory: data, logger: log.logger)
        let path = RetentionStates.path(dataDirectory: data, slug: "shop", .production)
        for round in 1...2 {
            try AtomicFile.write(Array("{".utf8), to: path)
            for _ in 0..<3 { apps.readStates() }
            #expect(apps.app("shop", .production)?.states.messages.count == 2)
            #expect(
                log.lines.count { $0.contains("states of retention messages could not be read") } == round)
            try app.record(.approved)
            apps.readStates()
        }
    }
}
