/// Waits until `condition` holds, for at most `limit`, by default ``WaitLimit``; returns whether it holds.
///
/// Wait for an event where there is one. This function is for a condition without an event: it checks every
/// two milliseconds, and leaves the processor to the other tests in between.
public func eventually(
    within limit: Duration = .seconds(WaitLimit.seconds), _ condition: () async throws -> Bool
) async rethrows -> Bool {
    let deadline = ContinuousClock.now + limit
    while ContinuousClock.now < deadline {
        if try await condition() { return true }
        // When the test is cancelled, check once more and return.
        guard (try? await Task.sleep(for: .milliseconds(2))) != nil else { break }
    }
    return try await condition()
}
