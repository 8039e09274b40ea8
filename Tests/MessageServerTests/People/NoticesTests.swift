import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import HandlerKit
import ServerTestSupport
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import MessageServer
@testable import MessageStore

/// The consent of customers: words, confirmations, events, and the messages of programs that need it.
@Suite struct NoticesTests {
    private static let base = "/v1/businesses/one/"

    /// Answers texts, and records the consents that it is told.
    private final class Shop: TextHandler, ConsentHandler, Sendable {
        private let told = Mutex<[ConsentChange]>([])
        var consents: [ConsentChange] { told.withLock { $0 } }
        private let texts = Mutex<[Bool]>([])
        /// For each text whether it began a conversation.
        var begins: [Bool] { texts.withLock { $0 } }

        func text(_: Text, _ context: Context) -> Outcome {
            texts.withLock { $0.append(context.conversation.isNew) }
            return .reply("moment")
        }

        func consent(_ consent: ConsentChange, _: Context) -> Outcome {
            told.withLock { $0.append(consent) }
            return .handled
        }
    }

    private static func notices(types: Bool = false, active: Duration = .seconds(3600))
        -> NoticesConfiguration
    {
        var notices = NoticesConfiguration(text: "You get our news.", withdrawnText: "You get no news.")
        if types {
            notices.types = [.init(id: "orders", title: "Orders"), .init(id: "offers", title: "Offers")]
        }
        notices.activeTime = active
        return notices
    }

    private func server(
        _ handler: any Handler, _ notices: NoticesConfiguration?
    ) async throws -> (ServerUnderTest, SimulatedCustomer, String) {
        let server = try await ServerUnderTest.withAPI(handler) {
            $0.businesses[0].notices = notices
            $0.businesses[0].people = PeopleConfiguration(text: "A colleague answers.")
            $0.businesses[0].people?.texts[.survey] = Localized("How was it?")
            $0.api.requestsPerMinute = 100_000
        }
        let customer = server.customer()
        _ = try await customer.post(customer.message(.text, text: "Hello"))
        _ = await server.gateway.waitForMessages(count: 1, customer: customer.id)
        return (server, customer, Self.base + "conversations/" + ConversationFiles.name(of: customer.id))
    }

    private func say(_ texts: [String], _ customer: SimulatedCustomer) async throws {
        for text in texts { _ = try await customer.post(customer.message(.text, text: text)) }
    }

    private func bodies(_ server: ServerUnderTest, _ customer: SimulatedCustomer) -> [String] {
        server.gateway.messages(for: customer.id).compactMap { $0.message.root["body"]?.string }
    }

    private func send(
        _ server: ServerUnderTest, _ path: String, _ body: String
    ) async throws -> TransportResponse {
        try await server.api(
            path + "/messages", method: "POST", body: body,
            headers: [("Idempotency-Key", MessageID.random().rawValue)])
    }

    @Test func `subscribe and unsubscribe are recorded, confirmed and told to the handler`() async throws {
        let shop = Shop()
        let (server, customer, path) = try await server(shop, Self.notices())
        try await say(["Subscribe!"], customer)
        #expect(
            try await eventually { try await server.api(path).json["consent"]?["state"]?.string == "given" })
        try await say(["STOP"], customer)
        _ = await server.gateway.waitForMessages(count: 3, customer: customer.id)
        #expect(bodies(server, customer) == ["moment", "You get our news.", "You get no news."])
        #expect(await eventually { shop.consents.count == 2 })
        #expect(shop.consents.map(\.isGiven) == [true, false])
        #expect(shop.consents.map(\.words) == ["Subscribe!", "STOP"])
        let consent = try await server.api(path).json["consent"]
        #expect(consent?["state"]?.string == "withdrawn" && consent?["words"]?.string == "STOP")
    }

    @Test func `without notices the handler gets the words`() async throws {
        let (server, customer, path) = try await server(Shop(), nil)
        try await say(["stop"], customer)
        _ = await server.gateway.waitForMessages(count: 2, customer: customer.id)
        #expect(bodies(server, customer) == ["moment", "moment"])
        #expect(try await server.api(path).json["consent"] == nil)
    }

    @Test func `a withdrawal counts and is confirmed while a person has the conversation`() async throws {
        let shop = Shop()
        let (server, customer, path) = try await server(shop, Self.notices())
        let claim = try await server.api(
            path + "/claim", method: "POST", body: #"{"person":{"id":"ana"}}"#)
        #expect(claim.status == 200)
        try await say(["unsubscribe"], customer)
        _ = await server.gateway.waitForMessages(count: 2, customer: customer.id)
        #expect(bodies(server, customer).last == "You get no news.")
        #expect(try await server.api(path).json["state"]?.string == "person")
        #expect(shop.consents.isEmpty, "no handler is called while a person has the conversation")
    }

    @Test func `a device with lists gets the types, and the choice starts no handler`() async throws {
        let shop = Shop()
        let (server, customer, _) = try await server(shop, Self.notices(types: true))
        try await say(["subscribe"], customer)
        let messages = await server.gateway.waitForMessages(count: 2, customer: customer.id)
        let data = messages.last?.message.root["interactiveData"]?["data"]
        #expect(data?["listPicker"]?["sections"]?[0]?["items"]?.elements.count == 2)
        let request = ServerQuestion.types.request(ServerUnderTest.business, customer.id).rawValue
        #expect(data?["requestIdentifier"]?.string == request)
        #expect(await eventually { shop.consents.first?.types == [] })
    }

    /// Answers a question of the server with a choice.
    private func answer(
        _ question: ServerQuestion, _ choice: String, _ customer: SimulatedCustomer, isLarge: Bool = false
    ) async throws {
        let request = question.request(ServerUnderTest.business, customer.id).rawValue
        let answer = try customer.message(
            completing: Array(
                #"{"type":"interactive","interactiveData":{"data":{"requestIdentifier":"\#(request)",\#(choice)}}}"#
                    .utf8))
        _ = try await customer.post(answer, isLarge: isLarge)
    }

    @Test func `a message of a type needs a customer who chose it, and the choice begins no conversation`()
        async throws
    {
        let shop = Shop()
        let (server, customer, path) = try await server(shop, Self.notices(types: true, active: .zero))
        func problem(_ purpose: String) async throws -> String? {
            try await send(server, path, #"{"text":"News","purpose":"\#(purpose)"}"#).problem
        }
        #expect(try await problem("orders") == "no-consent")
        try await say(["subscribe"], customer)
        #expect(try await eventually { try await server.api(path).json["consent"] != nil })
        #expect(try await problem("offers") == nil, "a customer who chose nothing agreed to every type")
        try await answer(
            .types, #""listPicker":{"sections":[{"items":[{"identifier":"orders","title":"Orders"}]}]}"#,
            customer)
        #expect(
            try await eventually {
                try await server.api(path).json["consent"]?["types"]?[0]?.string == "orders"
            })
        for (purpose, expected) in [("orders", nil), ("marketing", nil), ("offers", "no-consent")] {
            #expect(try await problem(purpose) == expected, "\(purpose)")
        }
        try await say(["Hello again"], customer)
        #expect(await eventually { shop.begins == [true, false] })
    }

    /// With `isLarge`, the content of the answer is known only after its download.
    @Test(arguments: [
        ("release", #""to":"handler""#, false, false), ("close", "", false, false),
        ("close", "", true, false),
        ("release", #""to":"handler","#, false, true), ("close", "", false, true),
    ])
    func `the end by a person asks for a score once, and the answer starts no handler and no conversation`(
        end: String, members: String, isLarge: Bool, isByOperator: Bool
    ) async throws {
        let shop = Shop()
        let (server, customer, path) = try await server(shop, Self.notices())
        for _ in 1...2 {
            #expect(
                try await server.api(path + "/claim", method: "POST", body: #"{"person":{"id":"ana"}}"#)
                    .status == 200)
            let operation =
                #"{\#(members)"job":"\#(ControlRoutes.newJob())","business":"\#(ServerUnderTest.business)","#
                + #""customer":"\#(customer.id)"}"#
            let ended =
                try await isByOperator
                ? server.control("/conversations/" + end, method: "POST", body: Array(operation.utf8))
                : server.api(path + "/" + end, method: "POST", body: "{\(members)}")
            #expect(ended.status == 200)
        }
        let asked = await server.gateway.waitForMessages(count: 3, customer: customer.id)
        #expect(bodies(server, customer) == ["moment", "How was it?"])
        let items = asked.last?.message.root["interactiveData"]?["data"]?["quick-reply"]?["items"]
        #expect(items?.elements.compactMap { $0["title"]?.string } == ["1", "2", "3", "4", "5"])
        try await answer(
            .survey, #""quick-reply":{"selectedIndex":3,"selectedIdentifier":"4"}"#, customer,
            isLarge: isLarge)
        func lines() async throws -> [JSONValue] {
            try await server.api(path + "/messages").json["lines"]?.elements.map(\.self) ?? []
        }
        #expect(
            try await eventually {
                try await lines().contains { $0["message"]?["score"]?.int == 4 }
            })
        let state = try await server.api(path).json["state"]?.string
        #expect(state == (end == "close" ? "closed" : "handler"))
        try await say(["Hello again"], customer)
        #expect(await eventually { shop.begins.count == 2 })
        #expect(shop.begins == [true, end == "close"])
        let internals = try await lines().filter { $0["direction"]?.string == "internal" }
        let states = internals.compactMap { $0["message"]?["state"]?.string }
        let ended = end == "close" ? "closed" : "handler"
        #expect(states == ["person", ended, "person", ended])
        #expect(internals.first?["message"]?["person"]?["id"]?.string == "ana")
        let figures = ConversationFigures.all(
            try await lines().compactMap { ConversationLine(Array($0.text)) }, of: ServerUnderTest.business,
            after: NewConversation.silence
        ) { _ in OpeningTime(hours: nil, closings: []) }
        #expect(figures.map(\.survey) == (end == "close" ? [4, nil] : [4]))
        #expect(figures.map(\.messages) == (end == "close" ? [1, 1] : [2]))
        #expect(await server.gateway.waitForMessages(count: 4, customer: customer.id).count == 4)
    }

    @Test func `a choice after a withdrawal is no consent, and an active customer gets no purpose`()
        async throws
    {
        let shop = Shop()
        let (server, customer, path) = try await server(shop, Self.notices(types: true))
        func consents(_ state: String) async throws -> Bool {
            try await eventually { try await server.api(path).json["consent"]?["state"]?.string == state }
        }
        try await say(["subscribe"], customer)
        #expect(try await consents("given"))
        try await say(["stop"], customer)
        #expect(try await consents("withdrawn"))
        try await answer(
            .types, #""listPicker":{"sections":[{"items":[{"identifier":"orders","title":"Orders"}]}]}"#,
            customer)
        try await say(["Hello again"], customer)
        #expect(await eventually { shop.begins == [true, false] })
        #expect(try await consents("withdrawn") && shop.consents.count == 2)
        for purpose in ["account", "marketing", "orders"] {
            let body = #"{"text":"News","purpose":"\#(purpose)"}"#
            #expect(try await send(server, path, body).problem == "no-consent", "\(purpose)")
        }
        #expect(try await send(server, path, #"{"text":"Your answer"}"#).problem == nil)
        try await say(["subscribe"], customer)
        #expect(try await consents("given"))
    }

    @Test(arguments: ["9223372036854775807", "-1", "5", "-9223372036854775808"])
    func `an answer to the survey with an index that no choice has is no score`(index: String) async throws {
        let shop = Shop()
        let (server, customer, path) = try await server(shop, Self.notices())
        try await answer(.survey, #""quick-reply":{"selectedIndex":\#(index)}"#, customer)
        try await say(["Hello again"], customer)
        #expect(await eventually { shop.begins.count == 2 })
        let lines = try await server.api(path + "/messages").json["lines"]?.elements.map(\.self) ?? []
        #expect(!lines.contains { $0["message"]?["score"] != nil })
    }

    @Test func `a program's message to a customer who has not written lately needs a purpose and a consent`()
        async throws
    {
        let (server, customer, path) = try await server(Shop(), Self.notices(active: .zero))
        func problem(_ body: String) async throws -> String? { try await send(server, path, body).problem }
        #expect(try await problem(#"{"text":"News"}"#) == "no-consent")
        #expect(try await problem(#"{"text":"News","purpose":"marketing"}"#) == "no-consent")
        #expect(try await problem(#"{"text":"News","purpose":"fun"}"#) == "no-consent")
        #expect(try await problem(#"{"text":"Parcel","purpose":"account"}"#) == "no-consent")
        // Persons are exempt, and so Apple's sentence is sent.
        let sentence = #"{"text":"\#(Notices.accountSentence)","person":{"id":"ana"}}"#
        #expect(try await send(server, path, sentence).status == 201)
        #expect(await eventually { bodies(server, customer).contains(Notices.accountSentence) })
        #expect(
            try await eventually { try await problem(#"{"text":"Parcel","purpose":"account"}"#) == nil })
        try await say(["subscribe"], customer)
        #expect(try await eventually { try await server.api(path).json["consent"] != nil })
        #expect(try await problem(#"{"text":"News","purpose":"marketing"}"#) == nil)
        try await say(["stop"], customer)
        #expect(
            try await eventually {
                try await server.api(path).json["consent"]?["state"]?.string == "withdrawn"
            })
        for purpose in ["marketing", "account"] {
            #expect(try await problem(#"{"text":"News","purpose":"\#(purpose)"}"#) == "no-consent")
        }
    }

    /// A consent lapses after ten days.
    ///
    /// A customer without a kept message is not active, unless invited.
    @Test(
        arguments: [
            ("tel:+49301", false, nil, nil, 0, nil), ("tel:+49301", false, false, "marketing", 0, .withdrawn),
            ("c", true, nil, nil, 0, nil), ("c", true, true, "marketing", 99, nil),
            ("c", true, false, nil, 0, nil),
            ("c", true, false, "account", 0, .withdrawn), ("c", true, false, "orders", 0, .withdrawn),
            ("c", false, nil, nil, 0, .purposeMissing), ("c", false, nil, "account", 0, .sentenceMissing),
            ("c", false, nil, "marketing", 0, .notGiven), ("c", false, true, "marketing", 9, nil),
            ("c", false, true, "marketing", 11, .lapsed), ("c", false, false, nil, 0, .purposeMissing),
            ("c", false, false, "account", 99, .withdrawn), ("c", false, false, "marketing", 99, .withdrawn),
        ] as [(String, Bool, Bool?, String?, Int, NoConsent?)])
    func `a program's message is refused by the purpose, the customer's last word and its age`(
        _ customer: String, _ hasWritten: Bool, _ consent: Bool?, _ purpose: String?, _ days: Int,
        _ expected: NoConsent?
    ) async throws {
        let test = try await PipelineUnderTest(RecordingHandler()) {
            $0.notices = Self.notices(types: true)
            $0.notices?.lapseTime = .seconds(10 * 86_400)
        }
        let running = test.run()
        if hasWritten {
            await test.append("hello", from: customer)
            await test.stages.count(1) { $0.stage == .finish }
        }
        let (business, customer, now) = (ServerUnderTest.business, CustomerID(customer), Timestamp.now())
        if let consent {
            let answer = Consent(
                isGiven: consent, at: now.advanced(by: .seconds(-86_400 * days)), words: "word", types: [])
            try test.store.states.apply(
                InternalMessage.consent(answer).json(of: "b"), recordedBy: 1,
                of: ConversationKey(business: business, customer: customer))
        }
        let refusal = try test.pipeline.notices.refusal(
            of: purpose, .text, by: .program, business, customer, at: now)
        #expect(refusal == expected)
        await test.stop(running)
    }

    @Test func `the purpose never reaches Apple`() async throws {
        let (server, customer, path) = try await server(Shop(), Self.notices())
        #expect(try await send(server, path, #"{"text":"News","purpose":"marketing"}"#).status == 201)
        let messages = await server.gateway.waitForMessages(count: 2, customer: customer.id)
        #expect(messages.allSatisfy { $0.message.root["purpose"] == nil })
    }
}
