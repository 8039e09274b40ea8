import BalloonPOSIX
import BalloonTLS

/// One client connection: the bytes that were read and not used, the bytes that wait to be written, and its state.
///
/// Belongs to its shard; every change is made there.
final class Connection {
    /// The state of the connection, with what only that state needs.
    ///
    /// `head` → `collecting…` → `answering` → `head`, once for each request. The last answer leads to `closing`,
    /// `lingering` and `closed`.
    enum Phase {
        /// Reads a request's header, or waits for one.
        case head
        /// The next pipelined request waits in `input` until the client has taken more of the answers before it.
        case heldBack
        /// Waits for the rest of a body of known length.
        case collecting(Exchange, length: Int)
        /// Takes the chunked coding off a body.
        case collectingChunks(Exchange, ChunkedRequest)
        /// The handler has the request and will answer; a pulled body may still come in.
        case answering(Exchange)
        /// The answer is written piece by piece; a pulled body may still come in.
        case streaming(Exchange, StreamedAnswer)
        /// The last answer is given and not all of it is sent; nothing that still comes in is looked at.
        case closing
        /// The last answer is sent; input is discarded until the peer has finished.
        case lingering
        /// The descriptor is out of the epoll set, and the shard has forgotten the connection.
        case closed
    }

    let descriptor: Descriptor
    let token: UInt64
    let listener: ServedListener
    let listenerNumber: Int
    let peer: PeerAddress
    /// Nil when the listener speaks plain HTTP.
    let tls: TLSSession?

    var phase = Phase.head
    /// The peer has sent its last byte; it may still read.
    var isPeerFinished = false
    var parser = RequestParser()
    /// Bytes from the current request's first one on, when they did not fit into one read.
    var input: [UInt8] = []
    var output: [UInt8] = []
    var outputStart = 0
    /// What the listener knows of ``heldBytes``.
    var countedBytes = 0
    var interest: Epoll.Events = .readable

    var exchangeNumber: UInt32 = 0
    /// The ticks of the request's first byte and of its header's end, and the bytes of its body so far.
    var requestStart: UInt64 = 0
    var bodyStart: UInt64 = 0
    var bodyBytes = 0
    /// The tick at which the current phase has lasted too long, and the one at which the wheel looks.
    var deadline: UInt64 = .max
    var scheduled: UInt64 = .max

    init(
        _ descriptor: consuming Descriptor, token: UInt64, listener: ServedListener, number: Int,
        peer: PeerAddress, tls: TLSSession?
    ) {
        self.descriptor = descriptor
        self.token = token
        self.listener = listener
        listenerNumber = number
        self.peer = peer
        self.tls = tls
    }

    var pendingOutputBytes: Int { output.count - outputStart }
    var exchangeID: ExchangeID { ExchangeID(connection: token, number: exchangeNumber) }

    /// Whether the next pipelined request may be looked at: none while memory is short and answers wait.
    var hasRoomForAnswers: Bool {
        pendingOutputBytes == 0
            || pendingOutputBytes < listener.limits.maximumPendingOutputBytes && listener.connections.hasRoom
    }

    /// What the connection keeps from one read to the next; TLS keeps its own, which `maximumConnections` bounds.
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

    /// The last answer is given.
    var isClosing: Bool {
        switch phase {
        case .closing, .lingering, .closed: true
        case .head, .heldBack, .collecting, .collectingChunks, .answering, .streaming: false
        }
    }

    /// Whether a request is not whole, so that it can still be refused.
    var isReading: Bool {
        switch phase {
        case .head, .heldBack, .collecting, .collectingChunks: true
        case .answering, .streaming, .closing, .lingering, .closed: false
        }
    }

    /// Whether the bytes that come are the body of a request that its route admitted.
    var isAdmitted: Bool {
        switch phase {
        case .collecting, .collectingChunks: true
        case .head, .heldBack, .answering, .streaming, .closing, .lingering, .closed: false
        }
    }

    /// No request is in flight and nothing waits to be written.
    var isIdle: Bool {
        if case .head = phase { parser.isAtStart && input.isEmpty && pendingOutputBytes == 0 } else { false }
    }

    /// The request in flight cannot be completed, and none can follow it: the peer has sent its last byte.
    var isStarved: Bool {
        guard isPeerFinished else { return false }
        return switch phase {
        case .head, .collecting, .collectingChunks, .closing, .lingering: true
        case .heldBack, .answering, .streaming, .closed: false
        }
    }

    /// The body that the handler pulls, while it has the request.
    var pull: PulledBody? {
        switch phase {
        case .answering(let exchange), .streaming(let exchange, _): exchange.pull
        case .head, .heldBack, .collecting, .collectingChunks, .closing, .lingering, .closed: nil
        }
    }

    /// What the socket should be watched for now.
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
            // Pipelined requests wait in the buffer, and then in the kernel's.
            if let pull, !pull.isFinished {
                pull.wantsMore
            } else {
                input.isEmpty || input.count < 16384 && listener.connections.hasRoom
            }
        case .lingering: true
        }
    }
}
