/// Returns the result of `body`; runs `stop` when `body` has returned or thrown.
func running<Result>(_ body: () async throws -> Result, stop: () async -> Void) async throws -> Result {
    let result: Result
    do { result = try await body() } catch {
        await stop()
        throw error
    }
    await stop()
    return result
}
