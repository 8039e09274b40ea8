/// Waits until `condition` holds, for at most `limit`, by default ``WaitLimit``; whether it does.
///
/// Wait for an event where there is one. This is for a condition that nothing announces: it looks every two
/// milliseconds and leaves the processor to the other tests in between.
public func eventually(
    within limit: Duration = .seconds(WaitLimit.seconds), _ condition: () async throws -> Bool
) async rethrows -> Bool {
    let deadline = ContinuousClock.now + limit
    while ContinuousClock.now < deadline {
        if try await condition() { return true }
        // A cancelled test looks once more and ends.
        guard (try? await Task.sleep(for: .milliseconds(2))) != nil else { break }
    }
    return try await condition()
}
