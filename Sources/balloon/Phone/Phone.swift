import BalloonHTTP
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import GatewayClient
import MessageServer
import MessageStore
import Simulator
import Synchronization

/// The phone of the inspector: plays customers over the real webhook, and shows what the business sent them.
///
/// The thread comes from the conversation's file, because the simulated gateway forgets at a restart.
final class Phone: Sendable {
    let gateway: FakeGateway
    let events: InspectorEvents
    let book: PhoneBook
    let conversations: ConversationFiles
    let files: PhoneFiles
    /// The folder for long messages to the handler of a replay.
    let scratchDirectory: String
    /// The header fields of the posted messages.
    let posted = PostedHeaders()
    /// The files of messages in both directions, as the server stores them.
    let attachments: AttachmentFiles
    let transport: CurlTransport
    /// The payment sheets that are open on the phone.
    let sheets = Mutex<[SheetName: DeviceSheet]>([:])
    let store = Mutex<Store?>(nil)
    private let server = Mutex<(known: DevelopmentServer, businesses: [BusinessConfiguration])?>(nil)

    static let maximumMessageBytes = 32 << 20
    static let maximumAnswerBytes = 1 << 20
    private static let maximumRules = 100

    init(gateway: FakeGateway, events: InspectorEvents, directory: String) throws {
        self.gateway = gateway
        self.events = events
        book = PhoneBook(directory: directory)
        conversations = ConversationFiles(dataDirectory: directory)
        files = PhoneFiles(directory: directory)
        scratchDirectory = directory + "/handlers/replay"
        attachments = AttachmentFiles(dataDirectory: directory)
        transport = try CurlTransport()
        gateway.whenAnswered { exchange in
            events.add("gateway") {
                $0.field("message", exchange.id.rawValue)
                $0.field("status", exchange.status)
            }
        }
        events.whenStageEnds { [weak self] in self?.follow($0) }
    }

    /// Names the running server; requests before it get 503.
    func open(_ known: DevelopmentServer, _ businesses: [BusinessConfiguration]) {
        server.withLock { $0 = (known, businesses) }
    }

    /// The running server and its businesses; throws a problem while it starts.
    var running: (known: DevelopmentServer, businesses: [BusinessConfiguration]) {
        get throws(InspectorProblem) {
            guard let server = server.withLock({ $0 }) else {
                throw InspectorProblem(.serviceUnavailable, "the server starts; repeat the request")
            }
            return server
        }
    }

    /// Tells the page about a new line of a thread.
    private func follow(_ event: StageEvent) {
        guard let customer = event.customer, let business = event.business else { return }
        switch event.stage {
        case .record: book.discover(customer, business)
        // Only an invitation reaches a customer who has not written.
        case .reply where event.kind == .invitation: book.discover(customer, business)
        case .handle, .reply, .finish: break
        default: return
        }
        let last = (try? lastLine(of: customer, business)) ?? 0
        events.add("phone") {
            $0.field("customer", customer.rawValue)
            $0.field("last", last)
        }
        if event.kind?.isTyping ?? false, event.stage == .reply {
            events.add("typing") {
                $0.field("customer", customer.rawValue)
                $0.field("typing", event.kind == .typingStart)
            }
        }
    }

    /// The number of a conversation's last line; 0 when there is none.
    private func lastLine(of customer: CustomerID, _ business: BusinessID) throws -> Int {
        try conversations.page(
            of: business, named: ConversationFiles.name(of: customer), .latest, maximum: 1,
            maximumBytes: 1)?.last ?? 0
    }

    /// The customer with this identity and its server; throws a problem when it is unknown.
    func customer(_ id: String) throws(InspectorProblem) -> (PhoneCustomer, SimulatedCustomer) {
        guard let customer = book[CustomerID(id)] else { throw PhoneBook.unknown }
        let known = try running.known
        var simulated = SimulatedCustomer(
            id: customer.id, business: customer.business, server: known.server, mspID: known.mspID,
            secret: known.secret, gateway: known.gateway, transport: transport)
        simulated.capabilities = customer.device.capabilities
        simulated.locale = customer.locale
        simulated.intent = customer.intent
        simulated.group = customer.group
        return (customer, simulated)
    }

    var routes: [InspectorRoute] { generalRoutes + customerRoutes }

    private var generalRoutes: [InspectorRoute] {
        [
            InspectorRoute(.get, "/dev/v1", "Read what the server is", answer: PhoneSchema.overview) {
                [self] _ in .json(try overview())
            },
            InspectorRoute(
                .put, "/dev/v1/files", "Store a file for an attachment",
                body: .pulled(maximumBytes: { PhoneFiles.maximumBytes }), answer: PhoneSchema.file,
                status: .created
            ) { [self] request in
                guard let reader = request.bodyReader else { return .none }
                let name = try await files.store(reader)
                return .json(JSONWriter.object(["file": name]))
            },
            InspectorRoute(
                .get, "/dev/v1/misbehaviour", "Read the rules of the simulated gateway",
                answer: PhoneSchema.rules
            ) { [self] _ in .json(misbehaviour) },
            InspectorRoute(
                .put, "/dev/v1/misbehaviour", "Replace the rules of the simulated gateway",
                body: .json(maximumBytes: 65_536, PhoneSchema.rules), answer: PhoneSchema.rules
            ) { [self] request in
                try misbehave(try request.object())
                return .json(misbehaviour)
            },
            InspectorRoute(
                .post, "/dev/v1/expressions", "Compare a text with the regular expression of a form",
                body: .json(maximumBytes: 65_536, PhoneSchema.expression), answer: PhoneSchema.match
            ) { .json(Self.match(try $0.object())) },
            // The page sends an empty object.
            InspectorRoute(
                .post, "/dev/v1/reset", "Forget the customers and the events",
                body: .json(maximumBytes: 1024, nil)
            ) { [self] _ in
                try book.reset()
                events.reset()
                return .none
            },
        ]
    }

    private var customerRoutes: [InspectorRoute] {
        let customer = "/dev/v1/customers/{id}"
        return [
            InspectorRoute(
                .get, "/dev/v1/customers", "List the customers", answer: PhoneSchema.customers
            ) { [self] _ in .json(try customers()) },
            InspectorRoute(
                .post, "/dev/v1/customers", "Add a customer",
                body: .json(maximumBytes: 65_536, PhoneSchema.newCustomer), answer: PhoneSchema.customer,
                status: .created
            ) { [self] in .json(try add(try $0.object())) },
            InspectorRoute(
                .put, customer, "Change a customer's device",
                body: .json(maximumBytes: 65_536, PhoneSchema.profile), answer: PhoneSchema.customer
            ) { [self] in
                .json(try json(of: try book.change(CustomerID($0.path("id")), by: try $0.object())))
            },
            InspectorRoute(
                .post, customer + "/messages", "Post one message of the customer, or several",
                body: .json(maximumBytes: Self.maximumMessageBytes, PhoneSchema.newMessage), answer: .posts
            ) { [self] in .json(try await send($0)) },
            InspectorRoute(
                .post, customer + "/answers", "Answer a message of the business",
                body: .json(maximumBytes: Self.maximumAnswerBytes, PhoneSchema.answer), answer: .posts
            ) { [self] in .json(try await answer($0)) },
            InspectorRoute(
                .post, customer + "/payments", "Select something at a payment sheet, or pay",
                body: .json(maximumBytes: 65_536, PhoneSchema.payment), answer: PhoneSchema.paid
            ) { [self] in .json(try await pay($0)) },
            InspectorRoute(
                .get, customer + "/phone", "Read the thread and its queued replies",
                query: [
                    "after": .count, "before": .count, "limit": .integer(1...500), "wait": .integer(0...25),
                ], answer: PhoneSchema.thread
            ) { [self] in .json(try await thread($0)) },
            InspectorRoute(
                .get, customer + "/messages/{message}/attachments/{n}", "Read an attachment of the thread",
                answer: .bytes, mediaType: "application/octet-stream"
            ) { [self] in try attachment($0) },
        ]
    }

    private func overview() throws -> [UInt8] {
        let businesses = try running.businesses
        return JSONWriter.object([
            "version": BuildVersion.text,
            "businesses": businesses.map { business in
                JSONObject([
                    "slug": business.slug, "id": business.businessID.rawValue, "name": business.name,
                    "handler": business.handler.summary,
                ])
            },
            "devices": DeviceOptions.Device.allCases.map(\.rawValue),
            "misbehaviour": gateway.rules.map(\.description),
            "endpoints": GatewayEndpoint.allCases.map(\.rawValue),
        ])
    }

    /// Whether a device accepts a text, which it does when the expression is invalid or the match is undecided.
    private static func match(_ object: JSONValue) -> [UInt8] {
        let expression = RegularExpression(object["expression"]?.string ?? "")
        return JSONWriter.object([
            "isValid": expression != nil,
            "matches": expression?.matchesWhole(object["text"]?.string ?? "") != .absent,
        ])
    }

    private var misbehaviour: [UInt8] {
        JSONWriter.object(["rules": gateway.rules.map(\.description)])
    }

    /// Replaces the gateway's rules.
    private func misbehave(_ object: JSONValue) throws(InspectorProblem) {
        guard let list = object["rules"], list.kind == .array, list.count <= Self.maximumRules else {
            throw InspectorProblem(
                .badRequest, "rules is a list of at most \(Self.maximumRules) texts", pointer: "/rules")
        }
        var rules: [MisbehaviourRule] = []
        for value in list.elements {
            guard let rule = value.string.flatMap({ MisbehaviourRule($0) }) else {
                throw InspectorProblem("a rule is ENDPOINT=WHAT[,times=N][,every=N]", at: value)
            }
            rules.append(rule)
        }
        gateway.replaceRules(by: rules)
    }

    private func customers() throws -> [UInt8] {
        let list = try book.all.map { try json(of: $0) }
        return JSONWriter.object(reservingCapacity: 1024) { writer in
            writer.list("customers", list) { customer, writer in writer.raw(customer) }
        }
    }

    private func json(of customer: PhoneCustomer) throws -> [UInt8] {
        let slug = try running.businesses.first { $0.businessID == customer.business }?.slug
        let last = try lastLine(of: customer.id, customer.business)
        return JSONWriter.value { customer.write(to: &$0, slug: slug ?? "", last: last) }
    }

    /// Adds a customer with the device of a scenario; returns the identity.
    func addCustomer(of scenario: Scenario) throws -> String {
        let business = try running.businesses.first
        guard let business else { throw InspectorProblem(.conflict, "the server has no business") }
        return try book.add { number throws(InspectorProblem) in
            var customer = PhoneCustomer(
                id: PhoneCustomer.randomID(), business: business.businessID, name: "Customer \(number)")
            customer.device = scenario.device
            customer.locale = scenario.locale ?? customer.locale
            customer.intent = scenario.intent
            customer.group = scenario.group
            return customer
        }.id.rawValue
    }

    private func add(_ object: JSONValue) throws -> [UInt8] {
        let businesses = try running.businesses
        let wanted = try PhoneCustomer.text(object["business"])
        let business = wanted.map { slug in businesses.first { $0.slug == slug } } ?? businesses.first
        guard let business else {
            throw InspectorProblem(
                .badRequest, "there is no such business", pointer: "/business",
                offered: businesses.map(\.slug))
        }
        let id = try PhoneCustomer.text(object["id"]).map { CustomerID($0) } ?? PhoneCustomer.randomID()
        let customer = try book.add { number throws(InspectorProblem) in
            var customer = PhoneCustomer(id: id, business: business.businessID, name: "Customer \(number)")
            try customer.change(by: object)
            return customer
        }
        return try json(of: customer)
    }
}

extension HandlerBinding {
    /// The handler in one line: a program's arguments, an address, or the name of a builtin one.
    fileprivate var summary: String {
        switch self {
        case .builtin(let name, _): name
        case .bound(let binder, let binding):
            binding["http"]?["url"]?.string
                ?? (binding["exec"]?.elements.compactMap(\.string).joined(separator: " ")).flatMap {
                    $0.isEmpty ? nil : $0
                } ?? binder
        }
    }
}
