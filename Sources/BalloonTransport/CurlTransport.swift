internal import Dispatch
internal import Synchronization

/// HTTP through libcurl, with connection reuse, HTTP/2 over TLS, and the environment's proxies.
///
/// All transfers share one serial queue and one descriptor that wakes it, so that no thread waits for a peer.
/// Certificates are checked against the system's CAs; redirects are not followed.
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

    // No transfer is in flight here, because each transfer retains this object. The cancelled source releases
    // the loop, which closes the descriptor.
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

/// The engine on its queue; the lock is never contended, and proves exclusive access to the compiler.
private final class CurlLoop: Sendable {
    private let queue = DispatchQueue(label: "balloon.transport")
    private let engine: Mutex<CurlEngine>

    init() throws(TransportError) { engine = Mutex(try CurlEngine()) }

    func makeSource() -> sending any DispatchSourceRead {
        let descriptor = engine.withLock { $0.descriptor }
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setEventHandler { self.engine.withLock { $0.run() } }
        // Dispatch may use the descriptor until this handler ran; the handler retains the engine until then.
        source.setCancelHandler { withExtendedLifetime(self) {} }
        return source
    }

    func start(_ request: TransportRequest, ticket: TransferTicket, continuation: CurlTransfer.Continuation) {
        queue.async {
            self.engine.withLock { $0.start(request, ticket: ticket, continuation: continuation) }
        }
    }

    func cancel(_ ticket: TransferTicket) {
        // Cancel the ticket before entering the queue: a start that is queued later must see the
        // cancellation.
        ticket.cancel()
        queue.async { self.engine.withLock { $0.cancel(ticket) } }
    }
}
