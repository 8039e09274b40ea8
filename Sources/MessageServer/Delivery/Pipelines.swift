import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import GatewayClient
import Logging
import MessageStore
import SignIn

/// The pipelines `record`, `deliver` and `send`, which run after the 200 to Apple, and their common gateway
/// client.
struct Pipelines: Sendable {
    let gateway: GatewayClient
    let resolver: PayloadResolver
    let recording: RecordPipeline
    let deliveries: DeliveryPipeline
    let sender: ReplySender
    let watch: AssignmentWatch
    /// Shows customers that a person is typing.
    let typing: TypingIndicators
    let opening: Opening

    /// Composes the pipelines for the messages of `store`.
    ///
    /// `signIns` are the settings of the businesses' identity providers. Without `signInClient` no result of a
    /// sign-in is released, and without `payments` no payment is requested. `events` gets typing and overdue
    /// conversations. `reportsFailures` returns whether the handler of a business subscribes to failed
    /// replies. Throws a ``TransportError`` when the process has too few file descriptors.
    init(
        _ configuration: CurrentConfiguration, store: Store, signIns: SignInSettings? = nil,
        signInClient: SignInClient? = nil, payments: PaymentServices? = nil, inspector: Inspector? = nil,
        levers: HandlerLevers? = nil, events: EventHub? = nil, observer: any StageObserver, logger: Logger,
        reportsFailures: @escaping @Sendable (BusinessID) -> Bool
    ) throws {
        gateway = try GatewayClient(
            configuration: GatewayConfiguration(configuration.value),
            uploads: KnownUploads(path: configuration.dataDirectory + "/uploads.jsonl"), logger: logger)
        // Handlers get these paths, and may have another working directory.
        let files = AttachmentFiles(dataDirectory: absolute(configuration.dataDirectory))
        let replyFiles = ReplyFiles(
            gateway: gateway, files: files, configuration: configuration)
        resolver = PayloadResolver(
            store: store, fetcher: PayloadFetcher(gateway, logger: logger), observer: observer)
        opening = Opening(store: store, configuration: configuration)
        let presence = PeoplePresence(dataDirectory: configuration.dataDirectory, logger: logger)
        let people = PeopleSettings(configuration, presence)
        watch = AssignmentWatch(
            store: store, opening: opening, settings: people, presence: presence,
            figures: FiguresRecorder(store, configuration, people, logger: logger), logger: logger
        ) { name, since in
            events?.send(
                TransientEvent(
                    name: .conversationOverdue, business: name.business,
                    conversation: ConversationFiles.name(of: name.customer), since: since))
        }
        // The API's indicators count as a person's, as its messages do without `autoReply`.
        typing = TypingIndicators(send: TypingIndicators.sender(gateway, isAutomatic: false, logger)) {
            name, isTyping in
            events?.send(
                TransientEvent(
                    name: .typing, business: name.business,
                    conversation: ConversationFiles.name(of: name.customer), isTyping: isTyping,
                    direction: .outbound))
        }
        let handOffs = HandOffs(store: store, watch: watch, logger: logger)
        let notices = Notices(store, configuration)
        recording = RecordPipeline(
            store: store, observer: observer,
            recentAnswers: RecentAnswers(after: store.latestRecoveredMessageAt), handOffs: handOffs,
            notices: notices,
            firstAnswers: FirstAnswers(opening: opening),
            configuration: configuration)
        var deliveries = DeliveryPipeline(
            store: store,
            attachments: AttachmentFetcher(
                gateway: gateway, files: files, configuration: configuration, logger: logger,
                slots: FairSlots(
                    configuration.attachments.concurrency,
                    share: configuration.attachments.share(among: configuration.businesses.count))),
            replyFiles: replyFiles, handOffs: handOffs, notices: notices, opening: opening,
            configuration: configuration, observer: observer, logger: logger)
        deliveries.retrySchedule = configuration.retrySchedule
        if let signIns, let signInClient {
            deliveries.signIns = SignInReleases(
                requests: store.requests, settings: signIns, client: signInClient, logger: logger)
        }
        deliveries.payments = payments?.results
        deliveries.attempts = inspector?.attempts
        deliveries.levers = levers
        self.deliveries = deliveries
        store.pauseReplies { business, reply in
            reply.typingTime(of: business, configuration)
        }
        sender = ReplySender(
            store: store, gateway: gateway, replyFiles: replyFiles, signIns: signIns,
            payments: payments?.parts,
            linkPages: LinkPages(transport: try CurlTransport(), configuration: configuration),
            recentAnswers: recording.recentAnswers, observer: observer, logger: logger,
            configuration: configuration, reportsFailures: reportsFailures,
            didAccept: { [typing] in typing.end(in: $0, isMessageSent: true) })
    }
}

extension GatewayConfiguration {
    /// The configuration of the gateway client, from the server's.
    init(_ configuration: ServerConfiguration) {
        self.init(
            baseURL: configuration.gateway.url, mspID: configuration.mspID, secret: configuration.secret,
            downloadHosts: configuration.gateway.downloadHosts)
        agent = configuration.gateway.agent
        maximumAttachmentBytes = configuration.attachments.maximumBytes
    }
}

func absolute(_ path: String) -> String {
    guard !path.hasPrefix("/"), let directory = try? ProcessPaths.workingDirectory() else { return path }
    return directory + "/" + path
}
