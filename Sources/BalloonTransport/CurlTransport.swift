internal import Dispatch
internal import Synchronization

/// An HTTP client on libcurl, with connection reuse, HTTP/2 over TLS, and the proxies of the environment.
///
/// All transfers share one serial queue and one descriptor, whose events wake the queue; no thread blocks
/// while a peer is slow. Certificates are checked against the system's authorities; redirects are not
/// followed.
package final class CurlTransport: HTTPTransport {
    private let loop: CurlLoop
    // A mutex holds the source, because Dispatch's sources are not Sendable.
    private let source: Mutex<any DispatchSourceRead>

    /// Creates a transport; throws `TransportError.failed` when no descriptors are left.
    package init() throws(TransportError) {
        let loop = try CurlLoop()
        self.loop = loop
        source = Mutex(loop.makeSource())
        source.withLock { $0.activate() }
    }

    // No transfer is in flight here, because each call of `send` retains this object. Cancelling the source
    // releases the loop, which closes the descriptor.
    deinit { source.withLock { $0.cancel() } }

    /// Sends `request` and returns the response with any status.
    ///
    /// Cancelling the task ends the transfer at once and throws `TransportError.cancelled`.
    package func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        let ticket = TransferTicket()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { loop.start(request, ticket: ticket, continuation: $0) }
        } onCancel: {
            loop.cancel(ticket)
        }
        return try result.get()
    }
}

/// The engine with the queue on which all its calls run.
///
/// The mutex never waits: it only proves to the compiler that access is exclusive.
private final class CurlLoop: Sendable {
    private let queue = DispatchQueue(label: "balloon.transport")
    private let engine: Mutex<CurlEngine>

    init() throws(TransportError) { engine = Mutex(try CurlEngine()) }

    func makeSource() -> sending any DispatchSourceRead {
        let descriptor = engine.withLock { $0.descriptor }
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setEventHandler { self.engine.withLock { $0.run() } }
        // Dispatch may use the descriptor until the cancel handler has run, so the handler retains this
        // object.
        source.setCancelHandler { withExtendedLifetime(self) {} }
        return source
    }

    func start(_ request: TransportRequest, ticket: TransferTicket, continuation: CurlTransfer.Continuation) {
        queue.async {
            self.engine.withLock { $0.start(request, ticket: ticket, continuation: continuation) }
        }
    }

    func cancel(_ ticket: TransferTicket) {
        // Cancel the ticket before queueing: if `start` enters the queue after this call, it sees the
        // cancellation.
        ticket.cancel()
        queue.async { self.engine.withLock { $0.cancel(ticket) } }
    }
}
