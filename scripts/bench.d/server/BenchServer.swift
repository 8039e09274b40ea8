import BalloonHTTP
import BalloonPOSIX
import BusinessMessages
import Glibc
import HandlerKit
import Logging
import MessageServer
import MessageStore

/// The server with a part exchanged, for the benchmark only: `BenchServer MODE CONFIGURATION`.
///
/// `unsynced`, `durable` and `each` are stages 1 to 5 alone: without waiting for the disk, as shipped, and with a sync
/// for every record. `delivery` is the whole server with a handler that does nothing, and `neighbours` the same, which also
/// measures the deliveries of the business `bench`. `fill` makes
/// a large data directory and `read` reads conversations of it: see ``DataFiller``. `rules` prints the nanoseconds in which the
/// rules of the first business choose a queue.
@main struct BenchServer {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count >= 2 else { exit(64) }
        let form = JSONLogLine.form(isJournal: false)
        LoggingSystem.bootstrap { _ in LineLogHandler(level: .info, form: form) }
        let configuration = try ConfigurationLoader.load(
            file: arguments[1], environment: [:], handlers: handlers)
        switch arguments[0] {
        case "unsynced": try await ingest(configuration, disk: UnsyncedDisk())
        case "durable": try await ingest(configuration, disk: SystemDisk())
        case "each": try await ingest(configuration, disk: EachRecordDisk())
        case "delivery": try await deliver(configuration, observer: CountingObserver())
        case "neighbours":
            guard let bench = configuration.businesses.first(where: { $0.slug == "bench" }) else { exit(65) }
            try await deliver(configuration, observer: LatencyObserver(of: bench.businessID))
        case "fill":
            guard arguments.count >= 5, let count = Int(arguments[2]), let left = Int(arguments[3]) else {
                exit(64)
            }
            try await DataFiller.fill(
                configuration, count: count, undelivered: left,
                isIndexed: arguments.dropFirst(5).first == "indexed",
                body: File(arguments[4], for: .reading).readAll())
        case "read":
            guard arguments.count >= 3, let count = Int(arguments[2]) else { exit(64) }
            try DataFiller.read(configuration, count: count)
        case "rules": choose(by: configuration)
        default: exit(64)
        }
    }

    /// Chooses the queue of a customer who wrote five texts, none of which a rule names.
    private static func choose(by configuration: ServerConfiguration) {
        guard let people = configuration.businesses.first?.people else { exit(65) }
        var facts = RoutingFacts()
        facts.intent = "order"
        facts.group = "shop"
        facts.locale = "de_DE"
        facts.texts = Array(
            repeating: "I ordered bread yesterday, and nothing has arrived until now.", count: 5)
        let (count, now) = (10_000, Timestamp.now())
        var found = 0
        let time = ContinuousClock().measure {
            for _ in 0..<count where people.route(facts, at: now).queue != nil { found += 1 }
        }
        guard found == count else { exit(70) }
        print(Int(time / .nanoseconds(count)))
    }

    private static let handlers: [any HandlerFactory] = [TrivialFactory(), AbsentFactory()]

    /// Stages 1 to 5 completely, without later stages.
    private static func ingest(_ configuration: ServerConfiguration, disk: any StoreDisk) async throws {
        _ = OpenFileLimit.raise()
        let logger = Logger(label: "bench")
        var storeConfiguration = StoreConfiguration(directory: configuration.dataDirectory)
        storeConfiguration.disk = disk
        let store = try Store.open(storeConfiguration, logger: logger)
        let businesses = Set(configuration.businesses.map(\.businessID))
        let webhook = WebhookRoute.make(
            CurrentConfiguration(configuration), isServed: { businesses.contains($0) }, store: store,
            observer: JSONStageLog(level: .info))
        let health = HealthRoutes.make(for: .everybody, checks: ReadinessChecks(store: store))
        let server = try HTTPServer(
            listeners: [HTTPListener(configuration.listen, routes: [webhook] + health)],
            shards: configuration.limits.shards, logger: logger)
        announce(try await server.start())
        await stopped()
        await server.stop(within: .seconds(1))
        await store.close()
    }

    private static func deliver(
        _ configuration: ServerConfiguration, observer: some StageObserver
    ) async throws {
        let reporter = HandledCount.reportOnSignal()
        try await Server.run(
            configuration, handlers: handlers, logger: Logger(label: "bench"), observer: observer
        ) { announce($0) }
        withExtendedLifetime(reporter) {}
    }

    private static func announce(_ addresses: [SocketAddress]) {
        for address in addresses { StandardStream.output.write("listening on \(address)\n") }
    }

    private static func stopped() async {
        let (signals, continuation) = AsyncStream<Void>.makeStream()
        let termination = TerminationSignals { continuation.yield() }
        for await _ in signals { break }
        withExtendedLifetime(termination) {}
    }
}
