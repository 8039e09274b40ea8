import BalloonPOSIX
import BalloonTLS

/// One client connection: its unprocessed input, its pending output, and its state.
///
/// A connection belongs to its shard; only the shard changes it.
final class Connection {
    /// The state of the connection, with the data of that state.
    ///
    /// `head` → `collecting…` → `answering` → `head`, once for each request. The last answer leads to `closing`,
    /// `lingering` and `closed`.
    enum Phase {
        /// Reads a request's header, or waits for its first byte.
        case head
        /// Keeps the next pipelined request unparsed in `input` until the client has read more of the earlier
        /// answers.
        case heldBack
        /// Waits for the rest of a body of known length.
        case collecting(Exchange, length: Int)
        /// Decodes a chunked body.
        case collectingChunks(Exchange, ChunkedRequest)
        /// The handler has the request and has not answered yet; more bytes of a pulled body may still
        /// arrive.
        case answering(Exchange)
        /// The answer is sent in pieces; a pulled body may still arrive.
        case streaming(Exchange, StreamedAnswer)
        /// The last answer is queued, but the socket has not accepted all of it; further input is ignored.
        case closing
        /// The last answer is sent; input is discarded until the peer has finished.
        case lingering
        /// The descriptor is removed from the epoll set, and the connection from the shard.
        case closed
    }

    let descriptor: Descriptor
    let token: UInt64
    let listener: ServedListener
    let listenerNumber: Int
    let peer: PeerAddress
    /// The user of the process at the other end of a unix socket; nil for TCP.
    let peerUser: UInt32?
    /// The TLS session; nil when the listener uses plain HTTP.
    let tls: TLSSession?

    var phase = Phase.head
    /// Whether the peer has closed its sending side; the peer may still read answers.
    var isPeerFinished = false
    /// Whether the write that closed the connection failed, so that the peer got none of its bytes.
    var hasLostOutput = false
    var parser = RequestParser()
    /// The received bytes that are not consumed yet: an incomplete request, or pipelined requests that wait.
    var input: [UInt8] = []
    var output: [UInt8] = []
    var outputStart = 0
    /// The objects that the queued answers retain; released when no output is pending.
    var retained: [any AnyObject & Sendable] = []
    /// The value of ``heldBytes`` when it was last reported to the listener's ``ConnectionCounter``.
    var countedBytes = 0
    var interest: Epoll.Events = .readable

    var exchangeNumber: UInt32 = 0
    /// The tick of the request's first byte, the tick at the end of its header, and the body bytes received
    /// since.
    var requestStart: UInt64 = 0
    var bodyStart: UInt64 = 0
    var bodyBytes = 0
    /// The tick at which the current phase expires, and the tick of the connection's entry in the timer
    /// wheel.
    var deadline: UInt64 = .max
    var scheduled: UInt64 = .max

    init(
        _ descriptor: consuming Descriptor, token: UInt64, listener: ServedListener, number: Int,
        peer: PeerAddress, peerUser: UInt32? = nil, tls: TLSSession?
    ) {
        self.peerUser = peerUser
        self.descriptor = descriptor
        self.token = token
        self.listener = listener
        listenerNumber = number
        self.peer = peer
        self.tls = tls
    }

    var pendingOutputBytes: Int { output.count - outputStart }
    var exchangeID: ExchangeID { ExchangeID(connection: token, number: exchangeNumber) }

    /// Whether the next pipelined request may be parsed.
    ///
    /// False while answers are pending and the connection's output or the listener's memory is at its limit.
    var hasRoomForAnswers: Bool {
        pendingOutputBytes == 0
            || pendingOutputBytes < listener.limits.maximumPendingOutputBytes && listener.connections.hasRoom
    }

    /// The bytes that the connection keeps between two reads.
    ///
    /// TLS buffers are not included: their size is bounded by `maximumConnections`.
    var heldBytes: Int {
        let inPhase =
            switch phase {
            case .collectingChunks(_, let request): request.head.count + request.body.count
            case .answering(let exchange), .streaming(let exchange, _): exchange.pull?.buffered.count ?? 0
            case .head, .heldBack, .collecting, .closing, .lingering, .closed: 0
            }
        return input.count + pendingOutputBytes + inPhase
    }
}

extension Connection {
    var isOpen: Bool { if case .closed = phase { false } else { true } }
    var isHeldBack: Bool { if case .heldBack = phase { true } else { false } }

    /// Whether the last answer is queued.
    var isClosing: Bool {
        switch phase {
        case .closing, .lingering, .closed: true
        case .head, .heldBack, .collecting, .collectingChunks, .answering, .streaming: false
        }
    }

    /// Whether a request is incomplete, so that it can still be refused.
    var isReading: Bool {
        switch phase {
        case .head, .heldBack, .collecting, .collectingChunks: true
        case .answering, .streaming, .closing, .lingering, .closed: false
        }
    }

    /// Whether the arriving bytes belong to the body of a request that its route accepted.
    var isAdmitted: Bool {
        switch phase {
        case .collecting, .collectingChunks: true
        case .head, .heldBack, .answering, .streaming, .closing, .lingering, .closed: false
        }
    }

    /// Whether no request is in flight and no output is pending.
    var isIdle: Bool {
        if case .head = phase { parser.isAtStart && input.isEmpty && pendingOutputBytes == 0 } else { false }
    }

    /// Whether the connection waits for bytes although the peer has closed its sending side.
    var isStarved: Bool {
        guard isPeerFinished else { return false }
        return switch phase {
        case .head, .collecting, .collectingChunks, .closing, .lingering: true
        case .heldBack, .answering, .streaming, .closed: false
        }
    }

    /// The pulled body of the request in flight; nil when there is none.
    var pull: PulledBody? {
        switch phase {
        case .answering(let exchange), .streaming(let exchange, _): exchange.pull
        case .head, .heldBack, .collecting, .collectingChunks, .closing, .lingering, .closed: nil
        }
    }

    /// The events to watch the socket for.
    var wantedInterest: Epoll.Events {
        let output: Epoll.Events = pendingOutputBytes > 0 ? .writable : .none
        let input: Epoll.Events = !isPeerFinished && wantsInput ? .readable : .none
        return Epoll.Events(rawValue: output.rawValue | input.rawValue)
    }

    private var wantsInput: Bool {
        switch phase {
        case .head, .collecting, .collectingChunks: hasRoomForAnswers
        case .heldBack, .closing, .closed: false
        case .answering, .streaming:
            // Pipelined requests wait in `input`; when `input` is full, they wait in the kernel's socket
            // buffer.
            if let pull, !pull.isFinished {
                pull.wantsMore
            } else {
                input.isEmpty || input.count < 16384 && listener.connections.hasRoom
            }
        case .lingering: true
        }
    }
}
