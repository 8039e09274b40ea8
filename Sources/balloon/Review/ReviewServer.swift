import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import Logging
import MessageServer
import MessageStore
import Review
import Simulator

/// The server of a review: that of a scenario, with levers that break handlers, and with the business API for the persons.
struct ReviewServer {
    let server: ScenarioServer
    /// The reviewed business as its file describes it.
    let business: BusinessConfiguration
    private let levers = HandlerLevers()
    private let apiToken: String
    private let transport: CurlTransport

    /// How soon the fallback answers in a review.
    private static let fallbackTime = Duration.seconds(2)
    /// The longest time for which an indicator is shown: a little more than the judge of indicators asks for.
    private static let shownTime = Duration.milliseconds(700)

    /// Starts the server of a configuration, whose program gets `BALLOON_REVIEW=1`; by night the persons have closed.
    init(
        _ choice: DevelopmentHandler, business name: String?, isNight: Bool = false, _ logger: Logger
    ) async throws {
        let apiToken = APIToken.prefix + Base64.encode(randomBytes(32), alphabet: .url)
        var business: BusinessConfiguration?
        server = try await ScenarioServer(choice, business: name, logger, levers: levers) { configuration in
            configuration.adminListen = .required(.tcp(host: "127.0.0.1", port: 0))
            configuration.pausesReplies = true
            configuration.hasLandingPage = true
            configuration.api = APIConfiguration()
            configuration.api.requestsPerMinute = 1_000_000
            configuration.api.tokens = [
                APIToken(name: "review", digest: SHA256.hash(Array(apiToken.utf8)), rights: [.read, .send])
            ]
            let chosen = try KnownBusiness.choose(
                name, among: configuration.businesses.map(KnownBusiness.init))
            // The handlers of other businesses are not started.
            configuration.businesses.removeAll { $0.businessID != chosen.id }
            for index in configuration.businesses.indices {
                try Self.prepare(&configuration.businesses[index], isNight)
            }
            business = configuration.businesses.first
        }
        guard let business else { throw CommandFailure.handlerNotReady(program: "", hint: "") }
        self.business = business
        self.apiToken = apiToken
        transport = try CurlTransport()
    }

    /// Shortens the waits of a business, and marks the environment of its program.
    private static func prepare(_ business: inout BusinessConfiguration, _ isNight: Bool) throws {
        business.fallback?.after = fallbackTime
        // By day and by night, so that the result does not depend on the time of day.
        let hours = { (hours: OpeningHours?) in isNight ? hours?.closed(onDayOf: .now()) : nil }
        if var people = business.people {
            people.hours = hours(people.hours)
            for index in people.queues.indices {
                people.queues[index].hours = hours(people.queues[index].hours)
            }
            business.people = people
        }
        // Indicators are judged, but no longer than it needs.
        if let typing = business.replies.typing {
            business.replies.typing?.shortest = min(typing.shortest, shownTime)
            business.replies.typing?.longest = min(typing.longest, shownTime)
        }
        guard case .bound(let binder, let binding) = business.handler, binder == "exec" else { return }
        let one = Array("\"1\"".utf8)
        let environment =
            binding["environment"]?.replacing(members: ["BALLOON_REVIEW": one])
            ?? Array("{\"BALLOON_REVIEW\":\"1\"}".utf8)
        let marked = try JSONDocument(binding.replacing(members: ["environment": environment])).root
        business.handler = .bound(by: binder, marked)
    }

    var slug: String { business.slug }

    /// Whether a program or a service answers, which may write without a message of the customer.
    var hasProgram: Bool { if case .builtin = business.handler { false } else { true } }

    /// Closes the help desk by hand.
    func closeDesk(_ text: String) async throws {
        let body = JSONWriter.object(["open": false, "text": text])
        let (status, _) = try await call("PUT", "people", body)
        guard status == 200 else {
            throw CommandFailure.refused(status: status, answer: "the help desk cannot be closed")
        }
    }

    /// Gets a page of the public listener.
    func page(_ path: String) async throws -> TransportResponse {
        try await transport.send(TransportRequest(url: server.url + path, allowsPlainHTTP: true))
    }

    /// Calls the business API below the business, and returns the status and the answer.
    func call(
        _ method: String, _ path: String, _ body: [UInt8] = [], type: String = "application/json"
    ) async throws -> (status: Int, answer: JSONValue?) {
        var request = TransportRequest(
            method: method, url: "\(server.adminURL ?? "")/v1/businesses/\(slug)/\(path)",
            headers: [
                ("authorization", "Bearer \(apiToken)"), ("content-type", type),
                ("idempotency-key", MessageID.random().rawValue), ("prefer", "wait=10"),
            ], body: body, maximumResponseBytes: 16 << 20, allowsPlainHTTP: true)
        request.timeout = .seconds(30)
        let answer = try await transport.send(request)
        return (answer.status, (try? JSONDocument(answer.body))?.root)
    }

    /// Sets the time by which the handler answers late.
    func slowHandler(by delay: Duration) { levers.slow(business.businessID, by: delay) }

    /// Kills the process of the handler; a handler inside the server has none.
    func killHandler() async { await server.server.crashHandler(of: slug) }

    /// The lines of a customer's conversation, as its file has them.
    func lines(of customer: CustomerID) throws -> [ConversationLine] {
        let files = ConversationFiles(dataDirectory: server.directory)
        return try files.lines(of: business.businessID, customer)
    }
}
