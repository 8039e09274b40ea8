import BalloonPOSIX
import BalloonWire
import BusinessMessages
import GatewayClient
import MessageStore
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import MessageServer

/// A reply sender over a store and a fake gateway, with waits of milliseconds.
///
/// It is separate from ``PipelineUnderTest`` because its tests queue replies that no handler decided.
struct SenderUnderTest {
    static let business = ServerUnderTest.business
    static let otherBusiness = ServerUnderTest.otherBusiness

    let directory: TemporaryDirectory
    let log = LogCollector()
    let gateway: FakeGateway
    let store: Store
    let sender: ReplySender
    private let running: Task<Void, Never>?

    /// Opens a store, in the `directory` of an earlier one if given, and starts sending unless disabled.
    init(
        in directory: TemporaryDirectory = TemporaryDirectory(), lifetime: Duration = .seconds(3600),
        isRunning: Bool = true, businessCount: Int = 1, observer: (any StageObserver)? = nil,
        adjust: (FakeGateway) -> Void = { _ in }
    ) async throws {
        self.directory = directory
        let secret = Secret.random(byteCount: 32)
        gateway = FakeGateway(mspID: ServerUnderTest.mspID, secret: secret, logger: log.logger)
        let address = try await gateway.start()
        adjust(gateway)
        let client = try GatewayClient(
            configuration: GatewayConfiguration(
                baseURL: "http://\(address)/v1", mspID: ServerUnderTest.mspID, secret: secret,
                downloadHosts: ["\(address)"]), logger: log.logger)
        store = try Store.open(
            StoreConfiguration(directory: directory.file("data")), logger: log.logger)
        var settings = ServerConfiguration(
            mspID: ServerUnderTest.mspID, secret: secret,
            businesses: (0..<businessCount).map { number in
                BusinessConfiguration(
                    slug: "business-\(number)", businessID: BusinessID("business-\(number)"),
                    name: "Business",
                    handler: .builtin(name: "none", configuration: nil))
            })
        settings.gateway.replyLifetime = lifetime
        let configuration = CurrentConfiguration(settings)
        sender = ReplySender(
            store: store, gateway: client,
            replyFiles: ReplyFiles(
                gateway: client, files: AttachmentFiles(dataDirectory: directory.file("data")),
                configuration: configuration),
            observer: observer ?? LogObserver(log.logger), logger: log.logger, configuration: configuration,
            backoff: Backoff(from: .milliseconds(5), to: .milliseconds(20), jitter: 0.5...1),
            maximumRetryAfter: .milliseconds(20),
            refusalBackoff: Backoff(from: .milliseconds(5), to: .milliseconds(20), jitter: 0.5...1))
        running = isRunning ? Task { [sender] in await sender.run() } : nil
    }

    /// Queues a proactive message.
    func queue(
        _ text: String, to customer: String, of business: BusinessID = business, kind: Kind = .text,
        id: MessageID = .random(), body: [UInt8]? = nil, message given: OutboundMessage? = nil
    ) async {
        let outbound: OutboundMessage = given ?? (kind == .typingStart ? .typingStart : .text(text))
        let message = ReceivedMessage(
            business: business, customer: CustomerID(customer), id: id,
            message: body
                ?? (kind == .authentication
                    ? signIn(id, of: business, to: customer)
                    : outbound.encodeToSend(id: id, from: business, to: CustomerID(customer))),
            outboundKind: kind)
        await withCheckedContinuation { continuation in
            store.append(message) { _ in continuation.resume() }
        }
    }

    /// A request to sign in, which lacks nothing that the server adds; it goes to an endpoint of its own.
    private func signIn(_ id: MessageID, of business: BusinessID, to customer: String) -> [UInt8] {
        Array(
            """
            {"id": "\(id.rawValue)", "v": 1, "type": "interactive", "sourceId": "\(business.rawValue)",
            "destinationId": "\(customer)", "interactiveData": {"bid":
            "com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.icloud.apps.messages.business.extension",
            "data": {"version": "2.0", "requestIdentifier": "\(id.rawValue)", "authenticate": {"oauth2": {
            "responseType": "code", "scope": ["openid"], "state": "s", "redirectURI": "https://example.com/",
            "additionalParameters": "a=b"}}},
            "receivedMessage": {"title": "Sign in"}, "replyMessage": {"title": "Signed in"}}}
            """.utf8)
    }

    /// Queues a message and waits for its end.
    func send(
        _ text: String, to customer: String, of business: BusinessID = business, kind: Kind = .text,
        body: [UInt8]? = nil, message: OutboundMessage? = nil
    ) async throws -> ReplyResult? {
        let id = MessageID.random()
        return try await sender.outcomes.outcome(of: id, within: .seconds(300)) {
            await queue(text, to: customer, of: business, kind: kind, id: id, body: body, message: message)
            return nil
        }
    }

    /// The texts that the gateway accepted, in order.
    func texts(_ customer: String? = nil) -> [String?] {
        gateway.messages(for: customer.map { CustomerID($0) }).map { $0.message.root["body"]?.string }
    }

    func stop() async {
        store.stopLeasing()
        running?.cancel()
        await running?.value
        await store.close()
        await gateway.stop()
    }
}
