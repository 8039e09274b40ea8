import BalloonPOSIX
import BalloonTLS

/// One client connection: what has been read and not used, what must be written, and where its request stands.
///
/// Belongs to its shard; every change is made there.
final class Connection {
    /// What the connection is doing.
    enum Phase {
        /// Reading a request's header, or waiting for one.
        case head
        /// Waiting for the rest of a body of known length.
        case collecting(length: Int)
        /// Taking a chunked body apart.
        case collectingChunks
        /// The handler has the request and will answer; a pulled body may still come in.
        case answering
        /// The answer is being written piece by piece.
        case streaming
        /// Everything is said; what still comes in is thrown away until the peer has finished.
        case lingering
    }

    let descriptor: Descriptor
    let token: UInt64
    let listener: ServedListener
    let listenerNumber: Int
    let peer: PeerAddress
    /// Nil when the listener speaks plain HTTP.
    let tls: TLSSession?

    var phase = Phase.head
    var parser = RequestParser()
    /// Bytes from the current request's first one on, when they did not fit into one read.
    var input: [UInt8] = []
    var output: [UInt8] = []
    var outputStart = 0
    /// What the listener knows of ``heldBytes``.
    var countedBytes = 0
    var interest: Epoll.Events = .readable
    var isOpen = true
    var isPeerFinished = false
    /// Requests wait in `input` until the client has taken more of the answers before them.
    var isHeldBack = false
    /// The last answer is given; nothing that still comes in is looked at.
    var isClosing = false

    var exchangeNumber: UInt32 = 0
    var route: ShardRoute?
    var isHeadRequest = false
    var minorVersion: UInt8 = 1
    var isPersistent = true
    /// Whether the pieces of the answer that is streamed are chunks.
    var isChunked = false
    /// The header's bytes and the decoded body of a chunked or pulled request.
    var headBytes: [UInt8] = []
    var body: [UInt8] = []
    var decoder = ChunkedDecoder()
    var pull: PulledBody?
    var writer: CheckedContinuation<Void, any Error>?

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
    var exchange: ExchangeID { ExchangeID(connection: token, number: exchangeNumber) }

    /// Whether the next pipelined request may be looked at: none while memory is short and answers wait.
    var hasRoomForAnswers: Bool {
        pendingOutputBytes == 0
            || pendingOutputBytes < listener.limits.maximumPendingOutputBytes && listener.connections.hasRoom
    }

    /// What the connection keeps from one read to the next.
    var heldBytes: Int {
        input.count + headBytes.count + body.count + pendingOutputBytes + (pull?.buffered.count ?? 0)
    }

    /// Whether a request is not whole, so that it can still be refused.
    var isReading: Bool {
        switch phase {
        case .head, .collecting, .collectingChunks: !isClosing
        case .answering, .streaming, .lingering: false
        }
    }

    /// No request is under way and nothing waits to be written.
    var isIdle: Bool {
        if case .head = phase { parser.isAtStart && input.isEmpty && pendingOutputBytes == 0 } else { false }
    }

    /// The request under way cannot be completed, and none can follow it: the peer has sent all it will.
    var isStarved: Bool {
        guard isPeerFinished, !isHeldBack else { return false }
        return switch phase {
        case .head, .collecting, .collectingChunks, .lingering: true
        case .answering, .streaming: false
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
        case .head, .collecting, .collectingChunks:
            !isHeldBack && !isClosing && hasRoomForAnswers
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

/// One request on one connection of a shard.
struct ExchangeID: Sendable, Hashable {
    let connection: UInt64
    let number: UInt32
}
