import BalloonPOSIX
import BalloonWire
import BusinessMessages
import HandlerKit
import MessageStore
import ServerTestSupport
import Simulator
import TestSupport

@testable import MessageServer

/// The delivery pipeline of one business over a store, with a fake gateway, without HTTP in front.
///
/// It is separate from ``ServerUnderTest`` because its tests append to the store, and stop the pipeline, between two steps.
struct PipelineUnderTest {
    let directory: TemporaryDirectory
    let log = LogCollector()
    let stages = StageCollector()
    let gateway: FakeGateway
    let store: Store
    let worker: BusinessWorker
    let pipelines: Pipelines
    var pipeline: DeliveryPipeline

    var watch: AssignmentWatch { pipelines.watch }

    init(
        _ handler: any Handler, in directory: TemporaryDirectory = TemporaryDirectory(),
        people: PeopleConfiguration? = nil, disk: any StoreDisk = SystemDisk(),
        observer: (any StageObserver)? = nil,
        maximumAssignedConversations: Int = 100_000,
        adjust: (inout BusinessConfiguration) -> Void = { _ in }
    ) async throws {
        self.directory = directory
        let secret = Secret.random(byteCount: 32)
        gateway = FakeGateway(mspID: ServerUnderTest.mspID, secret: secret, logger: log.logger)
        let address = try await gateway.start()
        var configuration = ServerConfiguration(mspID: ServerUnderTest.mspID, secret: secret, businesses: [])
        configuration.dataDirectory = directory.file("data")
        configuration.gateway.url = "http://\(address)/v1"
        configuration.gateway.downloadHosts = ["\(address)"]
        var storeConfiguration = StoreConfiguration(directory: directory.file("data"))
        storeConfiguration.disk = disk
        storeConfiguration.maximumAssignedConversations = maximumAssignedConversations
        storeConfiguration.probeInterval = .milliseconds(20)
        storeConfiguration.releaseBackoff = Backoff(from: .milliseconds(10), to: .milliseconds(300))
        store = try Store.open(storeConfiguration, logger: log.logger)
        var settings = BusinessConfiguration(
            slug: "one", businessID: ServerUnderTest.business, name: "One",
            handler: .builtin(name: "none", configuration: nil))
        settings.people = people
        adjust(&settings)
        configuration.businesses = [settings]
        pipelines = try Pipelines(
            CurrentConfiguration(configuration), store: store,
            observer: stages.and(observer ?? LogObserver(log.logger)),
            logger: log.logger,
            reportsFailures: { _ in true })
        pipeline = pipelines.deliveries
        let business = ServerUnderTest.business
        let host = HandlerHost(business: business, slug: "one", logger: log.logger) { _, _, _ in
            throw HandlerHostError.notStored
        }
        worker = BusinessWorker(
            BusinessHandler(
                business: business, slug: "one", life: HandlerLifecycle(handler, host: host), concurrency: 16,
                deadline: .seconds(60), logger: log.logger))
        worker.current.start()
    }

    /// Makes a text durable, like a received one.
    func append(
        _ text: String, from customer: String, attachments: String = "[]",
        whenStored: @escaping @Sendable () -> Void = {}
    ) async {
        let id = MessageID.random()
        let json =
            #"{"id":"\#(id)","v":1,"type":"text","body":"\#(text)","attachments":\#(attachments),"#
            + #""sourceId":"\#(customer)","destinationId":"\#(ServerUnderTest.business)"}"#
        let message = ReceivedMessage(
            business: ServerUnderTest.business, customer: CustomerID(customer), id: id,
            message: Array(json.utf8))
        await withCheckedContinuation { continuation in
            store.append(message) { _ in
                whenStored()
                continuation.resume()
            }
        }
    }

    /// Records, delivers and sends until ``stop(_:)``.
    func run() -> Task<Void, Never> {
        let recording = pipelines.recording
        store.startRecording { try recording.record($0) }
        return Task { [pipeline, worker, sender = pipelines.sender, watch] in
            await withDiscardingTaskGroup { group in
                group.addTask { await sender.run() }
                group.addTask { await watch.run() }
                group.addTask { await pipeline.run(worker) }
            }
        }
    }

    /// Ends `running`, and closes everything.
    func stop(_ running: Task<Void, Never>) async {
        store.stopLeasing()
        watch.stop()
        worker.current.stopWaiting()
        await running.value
        await worker.current.shutdown()
        await store.close()
        await gateway.stop()
    }
}
