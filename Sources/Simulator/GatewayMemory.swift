import BalloonPOSIX
import BusinessMessages
import Synchronization

/// The fake gateway's recorded messages, payloads and rules, shared by its request handlers and the tests.
///
/// The memory is bounded: beyond a limit the oldest messages and payloads are dropped.
final class GatewayMemory: Sendable {
    private let maximumMessages: Int
    private static let maximumMessageBytes = 256 << 20
    private static let maximumPayloadBytes = 512 << 20

    private static let maximumPlaces = 10_000

    private struct State {
        var messages = Deque<DeliveredMessage>()
        var messageBytes = 0
        var lastNumber = 0
        /// The number of each recorded message, by message id.
        var numbers: [MessageID: Int] = [:]
        var payloads: [String: StoredPayload] = [:]
        var payloadOrder = Deque<String>()
        var payloadBytes = 0
        var places: [String: UploadPlace] = [:]
        var rules: [MisbehaviourRule] = []
        var requestCounts: [GatewayEndpoint: Int] = [:]
        var address: SocketAddress?
        /// The businesses of the MSP; nil accepts every business.
        var businesses: Set<BusinessID>?
        var isOpen = false
        var exchanges = GatewayExchanges()
        var didAnswer: (@Sendable (GatewayExchange) -> Void)?
    }

    private let state = Mutex(State())
    private let waiters = ChangeWaiters()

    /// Creates a memory for this many messages.
    init(maximumMessages: Int = 10_000) { self.maximumMessages = maximumMessages }

    /// Adds businesses of the MSP; until the first call every business is accepted.
    func serve(_ businesses: Set<BusinessID>) {
        state.withLock { $0.businesses = businesses.union($0.businesses ?? []) }
    }

    func serves(_ business: BusinessID) -> Bool {
        state.withLock { $0.businesses?.contains(business) ?? true }
    }

    /// Counts a request and returns the misbehaviour that applies to it.
    func begin(_ endpoint: GatewayEndpoint) -> Misbehaviour? {
        state.withLock { state in
            state.requestCounts[endpoint, default: 0] += 1
            let due = state.rules.firstIndex { $0.endpoint == endpoint && $0.isLeft }
            guard let due, state.rules[due].isDue() else { return nil }
            defer { state.rules.removeAll { !$0.isLeft } }
            return state.rules[due].misbehaviour
        }
    }

    func add(_ rule: MisbehaviourRule) { state.withLock { $0.rules.append(rule) } }

    /// Records a request about a message, with its answer.
    func add(_ exchange: GatewayExchange) {
        let didAnswer = state.withLock { state in
            state.exchanges.append(exchange)
            return state.didAnswer
        }
        didAnswer?(exchange)
    }

    func exchanges(about id: MessageID) -> [GatewayExchange] { state.withLock { $0.exchanges.about(id) } }

    func whenAnswered(_ action: @escaping @Sendable (GatewayExchange) -> Void) {
        state.withLock { $0.didAnswer = action }
    }

    func removeRules() { replaceRules(by: []) }

    func replaceRules(by rules: [MisbehaviourRule]) { state.withLock { $0.rules = rules } }

    var rules: [MisbehaviourRule] { state.withLock { $0.rules } }

    func lastMessage(for customer: CustomerID) -> DeliveredMessage? {
        state.withLock { $0.messages.last { $0.customer == customer } }
    }

    func requestCount(_ endpoint: GatewayEndpoint) -> Int {
        state.withLock { $0.requestCounts[endpoint] ?? 0 }
    }

    /// Records a message; a message whose id is already recorded only increases that message's `repeats`.
    func deliver(
        _ id: MessageID, to customer: CustomerID, from business: BusinessID, _ message: JSONDocument,
        isAutomatic: Bool = false
    ) {
        state.withLock { state in
            if let number = state.numbers[id] {
                state.messages[number - state.lastNumber + state.messages.count - 1].repeats += 1
                return
            }
            state.lastNumber += 1
            state.numbers[id] = state.lastNumber
            state.messages.append(
                DeliveredMessage(
                    number: state.lastNumber, at: .now(), id: id, customer: customer, business: business,
                    message: message, isAutomatic: isAutomatic))
            state.messageBytes += message.bytes.count
            while state.messages.count > maximumMessages || state.messageBytes > Self.maximumMessageBytes,
                let oldest = state.messages.popFirst()
            {
                state.messageBytes -= oldest.message.bytes.count
                state.numbers[oldest.id] = nil
            }
        }
        waiters.wakeAll()
    }

    /// The messages with numbers above `number`, the number of the newest message, and whether the gateway is
    /// running.
    func messages(
        after number: Int, customer: CustomerID?
    ) -> (found: [DeliveredMessage], lastNumber: Int, isOpen: Bool) {
        state.withLock { state in
            // Numbers have no gaps, so the index of the first wanted message can be computed. The caller may
            // pass any `number`.
            let wanted = max(0, state.messages.count - max(0, state.lastNumber - max(0, number)))
            let found = state.messages[wanted...].filter { customer == nil || customer == $0.customer }
            return (found, state.lastNumber, state.isOpen)
        }
    }

    /// Returns when a message after number `number` exists, or at once when waits have ended or the task is
    /// cancelled.
    func nextMessage(after number: Int) async {
        await waiters.wait { [self] in state.withLock { !$0.isOpen || $0.lastNumber > number } }
    }

    /// Ends all waits; later waits return at once until ``open(at:)`` is called.
    func close() {
        state.withLock { $0.isOpen = false }
        waiters.wakeAll()
    }

    func open(at address: SocketAddress) {
        state.withLock { state in
            state.isOpen = true
            state.address = address
        }
    }

    /// The current or last listening address; nil before the start.
    var address: SocketAddress? { state.withLock { $0.address } }

    /// `http://127.0.0.1:PORT`; nil before the start.
    var origin: String? { address.map { "http://\($0)" } }

    func store(_ payload: StoredPayload) {
        state.withLock { state in
            state.payloads[payload.name] = payload
            state.payloadOrder.append(payload.name)
            state.payloadBytes += payload.content.sizeBytes
            while state.payloadBytes > Self.maximumPayloadBytes, let name = state.payloadOrder.popFirst() {
                state.payloadBytes -= state.payloads.removeValue(forKey: name)?.content.sizeBytes ?? 0
            }
        }
    }

    /// Records a place where one file may be uploaded; at the limit, all earlier places are dropped first.
    func expect(_ place: UploadPlace) {
        state.withLock { state in
            if state.places.count >= Self.maximumPlaces { state.places = [:] }
            state.places[place.name] = place
        }
    }

    func place(named name: String) -> UploadPlace? { state.withLock { $0.places[name] } }

    func payload(named name: String) -> StoredPayload? { state.withLock { $0.payloads[name] } }

    func payload(url: String) -> StoredPayload? {
        state.withLock { $0.payloads.values.first { $0.reference.url == url } }
    }
}
