import BalloonPOSIX
import Testing

@testable import SignIn

@Suite struct DocumentCacheTests {
    @Test func `a document that arrives long before the deadline is never late`() async throws {
        // Before the fix about 1 of 200 calls was late: the cancelled timer and the arrived document raced.
        for number in 0..<2000 {
            let cache = DocumentCache<Int>(of: .keys, keepsOldCopy: false, clock: .system)
            let document = try await cache.document(
                at: "https://id.example/keys", before: .now + .seconds(60)
            ) {
                await Task.yield()
                return .success(number)
            }
            #expect(document == number)
        }
    }
}
