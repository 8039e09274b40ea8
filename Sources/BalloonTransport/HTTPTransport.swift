/// Something that carries one HTTP request out and brings its response back.
package protocol HTTPTransport: Sendable {
    /// Sends `request` and returns the response, whatever its status; redirects are responses like any other.
    ///
    /// Throws `TransportError` when there is no whole response, `.cancelled` as soon as the task is cancelled.
    func send(_ request: TransportRequest) async throws -> TransportResponse
}
