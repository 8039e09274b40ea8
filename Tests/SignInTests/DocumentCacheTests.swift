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
                return .success(FetchedDocument(document: number, lifetime: .seconds(60)))
            }
            #expect(document == number)
        }
    }

    @Test(
        arguments: [
            (nil, nil, 86_400), ("", nil, 86_400), ("public", nil, 86_400), ("max-age=300", nil, 300),
            ("public, max-age=300, must-revalidate", nil, 300), ("Public,MAX-AGE=300", nil, 300),
            ("max-age=\"300\"", nil, 300), ("max-age=300", "100", 200), ("max-age=300", "400", 0),
            ("max-age=300", "-1", 300), ("max-age=300", "soon", 300), ("max-age=86401", nil, 86_400),
            ("max-age=99999999999999999999", nil, 86_400), ("max-age=0", nil, 0), ("max-age=-1", nil, 0),
            ("max-age=", nil, 0), ("no-store", nil, 0), ("max-age=300, no-cache", nil, 0),
            ("s-maxage=5", nil, 86_400), ("max-age=86400", "99999999999999999999", 86_400),
        ] as [(String?, String?, Int)])
    func `an answer is fresh for the rest of its max-age, at most a day`(
        cacheControl: String?, age: String?, seconds: Int
    ) {
        #expect(freshSeconds(cacheControl: cacheControl, age: age) == seconds)
    }
}
