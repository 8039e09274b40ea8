import BalloonPOSIX
import Testing

struct CoreDumpLimitTests {
    @Test func `core dumps can be forbidden, also twice`() throws {
        for _ in 1...2 {
            try CoreDumpLimit.forbid()
            #expect(CoreDumpLimit.isForbidden)
        }
    }
}
