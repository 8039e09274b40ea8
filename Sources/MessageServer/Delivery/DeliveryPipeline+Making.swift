import BalloonPOSIX
import GatewayClient
import Logging
import MessageStore

extension DeliveryPipeline {
    /// Puts together what delivers the messages of `store`, and the client of Apple's gateway that it uses.
    ///
    /// Throws a ``TransportError`` for lack of descriptors.
    static func make(
        _ configuration: ServerConfiguration, store: Store, observer: any StageObserver,
        logger: Logger
    ) throws -> DeliveryPipeline {
        var settings = GatewayConfiguration(
            baseURL: configuration.gateway.url, mspID: configuration.mspID, secret: configuration.secret,
            downloadHosts: configuration.gateway.downloadHosts)
        settings.maximumAttachmentBytes = configuration.attachments.maximumBytes
        let gateway = try GatewayClient(
            configuration: settings,
            uploads: KnownUploads(path: configuration.dataDirectory + "/uploads.jsonl"), logger: logger)
        // Handlers get these paths, and may have another working directory.
        let files = AttachmentFiles(dataDirectory: absolute(configuration.dataDirectory))
        var pipeline = DeliveryPipeline(
            store: store, gateway: gateway,
            attachments: AttachmentFetcher(
                gateway: gateway, files: files, logger: logger, deadline: configuration.attachments.deadline,
                slots: FairSlots(
                    configuration.attachments.concurrency,
                    share: configuration.attachments.share(among: configuration.businesses.count))),
            replyFiles: ReplyFiles(
                gateway: gateway, files: files, maximumBytes: configuration.attachments.maximumBytes),
            observer: observer, logger: logger,
            recentChoices: RecentChoices(
                windowMilliseconds: Repetition.windowMilliseconds, after: store.latestRecoveredMessageAt))
        pipeline.retrySchedule = configuration.retrySchedule
        return pipeline
    }
}

private func absolute(_ path: String) -> String {
    guard !path.hasPrefix("/"), let directory = try? ProcessPaths.workingDirectory() else { return path }
    return directory + "/" + path
}
