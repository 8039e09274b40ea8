/// Sends one HTTP request and returns its response.
package protocol HTTPTransport: Sendable {
    /// Sends `request` and returns the response with any status, including redirects.
    ///
    /// Throws `TransportError` when there is no complete response, and `.cancelled` as soon as the task is
    /// cancelled.
    func send(_ request: TransportRequest) async throws -> TransportResponse
}
