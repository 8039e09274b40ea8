internal import Dispatch
internal import Synchronization

/// HTTP by libcurl, with kept connections, HTTP/2 where TLS offers it, and the proxies of the environment.
///
/// All transfers share one serial queue and one descriptor that wakes it, so that no thread waits for a peer.
/// Certificates are checked against the system's CAs; redirects are not followed.
package final class CurlTransport: HTTPTransport {
    private let loop: CurlLoop
    // Dispatch's sources are not marked as Sendable.
    private let source: Mutex<any DispatchSourceRead>

    /// Throws `TransportError.failed` when there are no descriptors left.
    package init() throws(TransportError) {
        let loop = try CurlLoop()
        self.loop = loop
        source = Mutex(loop.makeSource())
        source.withLock { $0.activate() }
    }

    // No send is under way, since each keeps self; the source lets go of the loop, whose descriptor closes then.
    deinit { source.withLock { $0.cancel() } }

    /// Sends `request` and returns the response, whatever its status.
    ///
    /// When the task is cancelled, the transfer ends at once and `TransportError.cancelled` is thrown.
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

/// The engine on its queue; the lock is never waited for and proves what the queue ensures.
private final class CurlLoop: Sendable {
    private let queue = DispatchQueue(label: "balloon.transport")
    private let engine: Mutex<CurlEngine>

    init() throws(TransportError) { engine = Mutex(try CurlEngine()) }

    func makeSource() -> sending any DispatchSourceRead {
        let descriptor = engine.withLock { $0.descriptor }
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setEventHandler { self.engine.withLock { $0.run() } }
        // Dispatch may look at the descriptor until this handler ran; it keeps the engine until then.
        source.setCancelHandler { withExtendedLifetime(self) {} }
        return source
    }

    func start(_ request: TransportRequest, ticket: TransferTicket, continuation: CurlTransfer.Continuation) {
        queue.async {
            self.engine.withLock { $0.start(request, ticket: ticket, continuation: continuation) }
        }
    }

    func cancel(_ ticket: TransferTicket) {
        // Before the queue is asked: a start that is queued behind this must see it.
        ticket.cancel()
        queue.async { self.engine.withLock { $0.cancel(ticket) } }
    }
}
