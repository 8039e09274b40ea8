import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import Glibc
import HandlerKit
import Payments
import Synchronization
import TestSupport
import Testing

@testable import MessageServer
@testable import MessageStore

/// The endpoints of payments: attempts, updates, deadlines and reversals, on a clock that the tests turn.
@Suite struct PaymentFlowTests {
    private typealias Under = PaymentUnderTest

    @Test func `fifty equal gateway calls at once are one call of the handler with fifty equal answers`()
        async throws
    {
        let gate = CallGate()
        let handler = ScriptedPayments { call in
            await gate.wait()
            return .success(charged: call.sheet.total.amount, reference: "ch_1")
        }
        let under = try await PaymentUnderTest(handler)
        let posts = (0..<50).map { _ in Task { await under.pay() } }
        #expect(await eventually { handler.paid.count == 1 })
        gate.release()
        for post in posts { #expect(await post.value == .json(Under.success)) }
        #expect(await under.pay() == .json(Under.success))
        #expect(handler.paid == [Under.attempt()])
        #expect(try await eventually { try await !under.payment().isBusy })
        #expect(handler.reversed.isEmpty)
        await under.stop()
    }

    @Test func `two devices at once get one success at most`() async throws {
        let gate = CallGate()
        let handler = ScriptedPayments { call in
            await gate.wait()
            return .success(charged: call.sheet.total.amount, reference: "ch_1")
        }
        let under = try await PaymentUnderTest(handler)
        let first = Task { await under.pay("token-1") }
        #expect(await eventually { handler.paid.count == 1 })
        #expect(await under.pay("token-2") == Under.failed(.otherAttempt))
        gate.release()
        #expect(await first.value == .json(Under.success))
        #expect(await under.pay("token-2") == Under.failed(.paid))
        #expect(handler.paid.count == 1)
        await under.stop()
    }

    @Test func `a handler that fails gets a reversal at once, and a minute later one that decides`()
        async throws
    {
        let handler = ScriptedPayments(failingReversals: 2) { _ in throw ScriptedPayments.Refusal() }
        let under = try await PaymentUnderTest(handler)
        #expect(await under.pay() == Under.failed(.uncertain))
        for count in 1...2 {
            #expect(
                await eventually {
                    handler.reversed.count == count && under.clock.waits(about: .seconds(1))
                })
            under.clock.advance(by: .milliseconds(1100))
        }
        // The confirmed reversal decides nothing: the provider may still charge.
        #expect(await eventually { handler.reversed.count == 3 })
        #expect(await under.pay("token-2") == Under.failed(.otherAttempt))
        #expect(try await under.payment().attempts.map(\.state) == [.uncertain])
        under.clock.advance(by: .seconds(60))
        try await under.wait(for: .reversed)
        #expect(handler.reversed == Array(repeating: Under.attempt(), count: 4))
        #expect(await under.pay("token-2") == Under.failed(.uncertain))
        #expect(handler.paid.count == 2)
        await under.stop()
    }

    @Test func `a handler that was provably not called fails the attempt without a reversal`() async throws {
        let handler = ScriptedPayments { call in
            if call.attempt?.id == Under.attempt() { throw HandlerPayments.Failure.unavailable }
            return .success(charged: call.sheet.total.amount, reference: "ch_1")
        }
        let under = try await PaymentUnderTest(handler)
        #expect(await under.pay() == Under.failed(.notCharged))
        #expect(try await under.payment().attempts.map(\.state) == [.failed])
        #expect(await under.pay("token-2") == .json(Under.success))
        #expect(handler.reversed.isEmpty)
        await under.stop()
    }

    @Test func `a reversal that no handler confirms ends after the time of the outbox`() async throws {
        let handler = ScriptedPayments(failingReversals: .max) { _ in throw ScriptedPayments.Refusal() }
        let under = try await PaymentUnderTest(handler)
        #expect(await under.pay() == Under.failed(.uncertain))
        #expect(
            await eventually { handler.reversed.count == 1 && under.clock.waits(about: .seconds(1)) })
        under.clock.advance(by: .seconds(60))
        try await under.wait(for: .reversing)
        under.clock.advance(by: .seconds(72 * 3600))
        try await under.wait(for: .unreversed, turningClockBy: .seconds(1))
        // The state is durable before the line is written.
        await under.log.first { $0.contains("payment not reversed; look for the attempt") }
        #expect(await under.pay("token-2") == Under.failed(.ended))
        #expect(handler.paid.count == 1)
        await under.stop()
    }

    @Test(arguments: [false, true])
    func `a reversal that is a dead letter is counted until an operator has it retried or drops it`(
        isRetried: Bool
    ) async throws {
        // The second reversal succeeds, which only a retry asks for.
        let handler = ScriptedPayments(failingReversals: 1) { _ in
            .success(charged: "1.00", reference: "ch_1")
        }
        let under = try await PaymentUnderTest(handler, reversalLifetime: .zero)
        let id = Under.attempt()
        func apply(_ action: Payment.ReversalAction, _ attempts: [String]) async throws {
            try await ReversalDecision(action: action, attempts: attempts).apply(
                to: under.store.requests, under.records, at: under.clock.clock.now()
            ) { business, _ in under.settings[business]?.slug }
            under.reversals.wake()
        }
        #expect(await under.pay() == Under.failed(.uncertain))
        try await under.wait(for: .unreversed)
        #expect(await eventually { under.reversals.deadLetters == [Under.business: 1] })
        let data = under.temporary.directory.file("data")
        let listed = try AttemptReversal.all(dataDirectory: data).reversals
        #expect(listed.map(\.attempt.id) == [id] && listed.allSatisfy(\.isDeadLetter))
        // One wrong key: nothing changes.
        await #expect(throws: ReversalNotDead.self) { try await apply(.drop, [id, "0"]) }
        #expect(try await under.payment().attempts.first?.state == .unreversed)
        try await apply(isRetried ? .retry : .drop, [id])
        try await under.wait(for: isRetried ? .reversed : .dropped)
        #expect(handler.reversed.count == (isRetried ? 2 : 1))
        #expect(await eventually { under.reversals.deadLetters.isEmpty })
        await #expect(throws: ReversalNotDead.self) { try await apply(.retry, [id]) }
        let states = try PaymentRecordList(dataDirectory: data).attempts().attempts.map(\.state)
        let expected = isRetried ? ["reversed", "reversing"] : ["dropped"]
        #expect(states.count == 1 && expected.contains(states.first ?? ""))
        await under.stop()
    }

    @Test(arguments: ["63.98", "64", "1,00", "NaN", ""])
    func `a charge of another sum is answered with a failure and reversed`(charged: String) async throws {
        let handler = ScriptedPayments { _ in .success(charged: charged, reference: "ch_1") }
        let under = try await PaymentUnderTest(handler)
        #expect(await under.pay() == Under.failed(.uncertain))
        try await under.wait(for: .reversed)
        #expect(try await under.payment().attempts.first?.reference == "ch_1")
        #expect(charged.isEmpty || !under.log.lines.contains { $0.contains(charged + " ") })
        await under.stop()
    }

    @Test func `a charge of the right sum without a reference is reversed too`() async throws {
        let handler = ScriptedPayments { .success(charged: $0.sheet.total.amount, reference: "") }
        let under = try await PaymentUnderTest(handler)
        #expect(await under.pay() == Under.failed(.uncertain))
        try await under.wait(for: .reversed)
        await under.stop()
    }

    @Test func `a decline shows its errors, is repeated for its token, and lets another token pay`()
        async throws
    {
        let handler = ScriptedPayments { call in
            call.attempt?.id == Under.attempt("token-1")
                ? .failure([PaymentError(.shippingContactInvalid, field: .postalCode)])
                : .success(charged: "63.99", reference: "ch_2")
        }
        let under = try await PaymentUnderTest(handler)
        guard case .json(let answer) = await under.pay() else {
            Issue.record("no answer")
            return
        }
        let root = try JSONDocument(answer).root
        #expect(root["errors"]?[0]?["contactField"]?.string == "postalCode")
        #expect(await under.pay() == .json(answer))
        #expect(await under.pay("token-2") == .json(Under.success))
        #expect(handler.paid.count == 2)
        await under.stop()
    }

    @Test
    func
        `an answered update is the sum to charge, and the cheap method cannot be authorised for the dear one`()
        async throws
    {
        let handler = ScriptedPayments { call in
            .success(charged: call.attempt?.amount ?? "", reference: "ch_1")
        } update: { _ in
            SheetUpdate(
                total: .init("Sam's Fish", amount: "88.99"),
                lineItems: [.init("Halibut", amount: "59.00"), .init("Air", amount: "29.99")])
        }
        let under = try await PaymentUnderTest(handler)
        let update = await under.update(.shippingMethodUpdate, #""shippingMethod":{"identifier":"dear"}"#)
        guard case .json(let json) = update else {
            Issue.record("no answer")
            return
        }
        #expect(try JSONDocument(json).root["newTotal"]?["amount"]?.string == "88.99")
        #expect(await under.pay("token-1", shippingMethod: "cheap") == Under.failed(.totalChanged))
        #expect(await under.pay("token-1", shippingMethod: nil) == Under.failed(.totalChanged))
        #expect(handler.paid.isEmpty)
        #expect(await under.pay("token-1", shippingMethod: "dear") == .json(Under.success))
        #expect(try await under.payment().paid?.amount == "88.99")
        // After the payment no update is in force any more.
        let late = await under.flow.answer(
            .shippingMethodUpdate, key: "fish", Under.update(#""shippingMethod":{"identifier":"cheap"}"#))
        #expect(late.answer == .json(PaymentFlow.updateFailure))
        #expect(handler.updates == 1)
        await under.stop()
    }

    /// The sheet with the express delivery.
    private static func dear(_: PaymentHandlerCall) -> SheetUpdate {
        SheetUpdate(
            total: .init("Sam's Fish", amount: "88.99"),
            lineItems: [.init("Halibut", amount: "59.00"), .init("Air", amount: "29.99")])
    }

    @Test(arguments: [true, false])
    func `an update counts only when its answer was sent`(isSent: Bool) async throws {
        let under = try await PaymentUnderTest(ScriptedPayments(update: { Self.dear($0) }))
        _ = await under.update(
            .paymentMethodUpdate, #""paymentMethod":{"type":"credit"}"#, delivery: isSent ? .sent : .unsent)
        #expect(await under.pay() == .json(Under.success))
        #expect(try await under.payment().paid?.amount == (isSent ? "88.99" : "63.99"))
        await under.stop()
    }

    @Test func `after an update that the device may not have got, a sum that is not certain is not charged`()
        async throws
    {
        let handler = ScriptedPayments(update: { Self.dear($0) })
        let under = try await PaymentUnderTest(handler)
        let method = #""paymentMethod":{"type":"credit"}"#
        _ = await under.update(.paymentMethodUpdate, method, delivery: .unknown)
        #expect(await under.pay() == Under.failed(.totalChanged))
        #expect(handler.paid.isEmpty)
        // The next update tells the device the sum.
        _ = await under.update(.paymentMethodUpdate, method)
        #expect(await under.pay("token-2") == .json(Under.success))
        #expect(try await under.payment().paid?.amount == "88.99")
        await under.stop()
    }

    @Test func `a token waits for the end of an update`() async throws {
        let handler = ScriptedPayments(update: { Self.dear($0) })
        let under = try await PaymentUnderTest(handler)
        let reply = await under.flow.answer(
            .paymentMethodUpdate, key: "fish", Under.update(#""paymentMethod":{"type":"credit"}"#))
        let post = Task { await under.pay() }
        #expect(await eventually { under.clock.rests.contains(.milliseconds(12_500)) })
        #expect(handler.paid.isEmpty)
        reply.wasDelivered?(.sent)
        #expect(await post.value == .json(Under.success))
        #expect(try await under.payment().paid?.amount == "88.99")
        await under.stop()
    }

    @Test func `after a crash between an update and its answer, a sum that is not certain is not charged`()
        async throws
    {
        let handler = ScriptedPayments(update: { Self.dear($0) })
        let under = try await PaymentUnderTest(handler)
        // The answer is neither sent nor lost when the server ends.
        _ = await under.flow.answer(
            .paymentMethodUpdate, key: "fish", Under.update(#""paymentMethod":{"type":"credit"}"#))
        let later = try await under.restarted()
        #expect(await later.pay() == Under.failed(.totalChanged))
        #expect(handler.paid.isEmpty)
        // The next update tells the device the sum.
        _ = await later.update(.paymentMethodUpdate, #""paymentMethod":{"type":"credit"}"#)
        #expect(await later.pay("token-2") == .json(Under.success))
        #expect(try await later.payment().paid?.amount == "88.99")
        await later.stop()
    }

    @Test func `a clock that is set ahead after a start does not shorten the wait for late charges`()
        async throws
    {
        let handler = ScriptedPayments()
        let under = try await PaymentUnderTest(handler, attempts: [(Under.attempt(), .begun)])
        try await under.wait(for: .uncertain)
        under.clock.setAhead(by: .seconds(3600))
        under.clock.advance(by: .seconds(31))
        #expect(await eventually { under.clock.waits(about: .seconds(29)) })
        #expect(try await under.payment().attempts.first?.state == .uncertain)
        under.clock.advance(by: .seconds(30))
        try await under.wait(for: .reversed, turningClockBy: .seconds(1))
        await under.stop()
    }

    @Test func `an update that cannot be sent is answered with an error and changes nothing`() async throws {
        let handler = ScriptedPayments { _ in
            .failure()
        } update: { _ in
            SheetUpdate(total: .init("Sam's Fish", amount: "1,00"))
        }
        let under = try await PaymentUnderTest(handler)
        for method in ["dear", "unknown"] {
            let reply = await under.flow.answer(
                .shippingMethodUpdate, key: "fish",
                Under.update(#""shippingMethod":{"identifier":"\#(method)"}"#))
            #expect(reply.answer == .json(PaymentFlow.updateFailure))
        }
        #expect(handler.updates == 1)
        #expect(try await under.payment().shown.total == "63.99")
        #expect(under.log.lines.contains { $0.contains("newTotal.amount") && !$0.contains("1,00") })
        await under.stop()
    }

    @Test func `updates of a request run one after another, and a late one changes nothing`() async throws {
        let gate = CallGate()
        let handler = ScriptedPayments { _ in
            .failure()
        } update: { _ in
            await gate.wait()
            return SheetUpdate(
                total: .init("S", amount: "1.00"), lineItems: [.init("A", amount: "1.00")])
        }
        let under = try await PaymentUnderTest(handler)
        let body = Under.update(#""paymentMethod":{"type":"Credit"}"#)
        let first = Task { await under.flow.answer(.paymentMethodUpdate, key: "fish", body).answer }
        #expect(await eventually { handler.updates == 1 })
        let second = Task { await under.flow.answer(.paymentMethodUpdate, key: "fish", body).answer }
        #expect(await eventually { under.clock.rests.filter { $0 == .seconds(25) }.count == 2 })
        #expect(handler.updates == 1)
        under.clock.advance(by: .seconds(25))
        #expect(await first.value == .json(PaymentFlow.updateFailure))
        #expect(await second.value == .json(PaymentFlow.updateFailure))
        gate.release()
        #expect(try await under.payment().shown.total == "63.99")
        await under.stop()
    }

    @Test(arguments: [(PaymentAttempt.State.begun, true), (.succeeded, false)])
    func `after a crash an attempt is never called again, and a begun one is reversed`(
        state: PaymentAttempt.State, isReversed: Bool
    ) async throws {
        let handler = ScriptedPayments()
        let under = try await PaymentUnderTest(handler, attempts: [(Under.attempt(), state)])
        if isReversed {
            try await under.wait(for: .uncertain)
            #expect(await eventually { handler.reversed.count == 1 })
        }
        #expect(await under.pay() == (isReversed ? Under.failed(.uncertain) : .json(Under.success)))
        if isReversed {
            under.clock.advance(by: .seconds(600))
            try await under.wait(for: .reversed)
            #expect(handler.reversed == [Under.attempt(), Under.attempt()])
        }
        #expect(handler.paid.isEmpty)
        await under.stop()
    }

    @Test func `a success that nobody was told of before a crash is reversed at the request's end`()
        async throws
    {
        let handler = ScriptedPayments()
        let under = try await PaymentUnderTest(handler, attempts: [(Under.attempt(), .succeeded)])
        #expect(await eventually { under.clock.rests.contains(.seconds(30)) })
        #expect(handler.reversed.isEmpty)
        under.clock.advance(by: .seconds(600))
        try await under.wait(for: .reversed)
        #expect(handler.reversed == [Under.attempt()])
        await under.stop()
    }

    @Test(arguments: [
        ([HTTPDelivery.unsent], true), ([.unsent, .sent], false), ([.unknown, .sent], false),
        ([.sent], false),
    ])
    func `a success whose connections were all gone is reversed`(
        deliveries: [HTTPDelivery], isReversed: Bool
    ) async throws {
        let gate = CallGate()
        let handler = ScriptedPayments { call in
            await gate.wait()
            return .success(charged: call.sheet.total.amount, reference: "ch_1")
        }
        let under = try await PaymentUnderTest(handler)
        var replies: [Task<PaymentFlow.Reply, Never>] = []
        for _ in deliveries {
            replies.append(Task { await under.flow.answer(.paymentGateway, key: "fish", Under.gateway()) })
        }
        #expect(await eventually { handler.paid.count == 1 })
        // All posts join before the handler answers.
        #expect(await eventually { under.flow.waitingPosts == deliveries.count })
        gate.release()
        for (reply, delivery) in zip(replies, deliveries) { await reply.value.wasDelivered?(delivery) }
        if isReversed {
            try await under.wait(for: .reversed)
        } else {
            #expect(try await eventually { try await !under.payment().isBusy })
            #expect(handler.reversed.isEmpty)
        }
        await under.stop()
    }

    @Test(arguments: [("paid", false), ("paymentNotCompleted", true), (nil, true)])
    func `Apple's event or the request's end decides about a success that the device may not have got`(
        state: String?, isReversed: Bool
    ) async throws {
        let handler = ScriptedPayments()
        let under = try await PaymentUnderTest(handler)
        #expect(await under.pay(delivery: .unknown) == .json(Under.success))
        #expect(await eventually { under.flow.waitingPosts == 0 })
        let charged = try await under.payment()
        #expect(charged.paid?.isTold == false && charged.isBusy && handler.reversed.isEmpty)
        if let state {
            _ = try await under.results.result(of: try Self.event(state, of: Under.customer))
        } else {
            under.clock.advance(by: .seconds(600))
        }
        if isReversed {
            try await under.wait(for: .reversed)
            #expect(handler.reversed == [Under.attempt()])
        } else {
            #expect(try await under.payment().paid?.isTold == true)
            #expect(handler.reversed.isEmpty)
        }
        await under.stop()
    }

    @Test func `a lost success whose record the disk refuses is reversed at the request's end`() async throws
    {
        let handler = ScriptedPayments()
        let under = try await PaymentUnderTest(handler)
        let reply = await under.flow.answer(.paymentGateway, key: "fish", Under.gateway())
        // A folder in the place of the temporary file: it can neither be replaced nor removed.
        let name = RequestName(of: Under.identifier)
        let path = under.temporary.directory.file("data") + "/requests/" + name.path
        let temporary = "\(path).\(getpid()).new"
        try Directory.make(temporary + "/x")
        reply.wasDelivered?(.unsent)
        #expect(await eventually { under.log.lines.contains { $0.contains("answer not recorded") } })
        try Directory.removeEmpty(temporary + "/x")
        try Directory.removeEmpty(temporary)
        #expect(try await under.payment().paid?.isTold == false && handler.reversed.isEmpty)
        under.clock.advance(by: .seconds(600))
        try await under.wait(for: .reversed)
        #expect(handler.reversed == [Under.attempt()])
        await under.stop()
    }

    /// Apple's event with the result of the payment.
    private static func event(_ state: String?, of customer: CustomerID) throws -> InboundEvent {
        let state = state.map { #""state":"\#($0)","# } ?? ""
        let message =
            #"{"type":"interactive","interactiveData":{"data":{"requestIdentifier":"\#(Under.identifier)","payment":{\#(state)"paymentRequest":{}}}}}"#
        return InboundEvent.decode(
            message: try JSONDocument(Array(message.utf8)), id: MessageID("m"), business: Under.business,
            customer: customer)
    }

    @Test(arguments: [
        ("fish", PaymentUnderTest.identifier, true), ("fish", "another", false),
        ("bread", PaymentUnderTest.identifier, false), ("bread", "another", false),
    ])
    func `a request is found by its business and its identifier together`(
        key: String, identifier: String, isFound: Bool
    ) async throws {
        let handler = ScriptedPayments()
        let under = try await PaymentUnderTest(handler)
        let reply = await under.flow.answer(.paymentGateway, key: key, Under.gateway(identifier: identifier))
        #expect(reply.answer == (isFound ? .json(Under.success) : .notFound))
        #expect(handler.paid.count == (isFound ? 1 : 0))
        reply.wasDelivered?(.sent)
        await under.stop()
    }

    @Test(arguments: ["", "{", "[]", "{}", #"{"requestIdentifier":"x","version":2,"payment":{}}"#])
    func `a body that is no callback is refused`(body: String) async throws {
        let handler = ScriptedPayments()
        let under = try await PaymentUnderTest(handler)
        for kind in PaymentCallback.Kind.allCases {
            #expect(await under.flow.answer(kind, key: "fish", Array(body.utf8)).answer == .badRequest)
        }
        #expect(handler.paid.isEmpty && handler.updates == 0 && handler.tracked == 0)
        await under.stop()
    }

    @Test func `a callback that the handler does not have is unknown`() async throws {
        let handler = ScriptedPayments()
        handler.answer([.paymentGateway])
        let under = try await PaymentUnderTest(handler)
        let body = Under.update(#""paymentMethod":{"type":"Credit"}"#)
        #expect(await under.flow.answer(.paymentMethodUpdate, key: "fish", body).answer == .notFound)
        #expect(await under.flow.answer(.orderTracking, key: "fish", body).answer == .notFound)
        await under.stop()
    }

    @Test(arguments: [("paid", true), ("paymentNotCompleted", false), (nil, false)])
    func `Apple's event ends the request and tells whether it agrees with the record`(
        state: String?, agrees: Bool
    ) async throws {
        let handler = ScriptedPayments()
        let under = try await PaymentUnderTest(handler)
        _ = await under.pay()
        #expect(try await eventually { try await !under.payment().isBusy })
        #expect(try await under.results.result(of: try Self.event(state, of: CustomerID("other"))) == nil)
        for _ in 0..<2 {
            let event = try Self.event(state, of: Under.customer)
            let result = try #require(try await under.results.result(of: event))
            #expect(result.state == .paid && result.amount == "63.99" && result.currency == "USD")
            #expect(result.reference == "ch_1" && result.agrees == agrees)
            #expect(result.attempt == Under.attempt())
            #expect(PaymentResult(try JSONDocument(result.json).root) == result)
        }
        #expect(await under.pay("token-2") == Under.failed(.ended))
        #expect(handler.paid.count == 1 && handler.reversed.isEmpty)
        let body = Under.update(#""paymentMethod":{"type":"Credit"}"#)
        #expect(await under.flow.answer(.orderTracking, key: "fish", body).answer == .ok)
        #expect(handler.tracked == 1)
        await under.stop()
    }

    @Test func `order tracking is accepted for a day after the end, then the request is unknown`()
        async throws
    {
        let handler = ScriptedPayments()
        let under = try await PaymentUnderTest(handler)
        _ = await under.pay()
        #expect(try await eventually { try await !under.payment().isBusy })
        #expect(try await !under.results.withdraw(Under.identifier, of: Under.business))
        try await under.store.requests.update(Under.identifier, of: Under.business) {
            [clock = under.clock.clock] request, _ in
            request?.endPayment(by: MessageID("m"), at: clock.now())
        }
        let clock = under.clock.clock
        let requests = try OpenRequests(
            directory: under.temporary.directory.file("data") + "/requests", logger: under.log.logger,
            now: clock.now)
        let body = Under.update(#""paymentMethod":{"type":"Credit"}"#)
        under.clock.advance(by: .seconds(24 * 3600 - 60))
        try await requests.sweep()
        #expect(await under.flow.answer(.orderTracking, key: "fish", body).answer == .ok)
        under.clock.advance(by: .seconds(120))
        try await requests.sweep()
        #expect(await under.flow.answer(.orderTracking, key: "fish", body).answer == .notFound)
        #expect(handler.tracked == 1)
        await requests.close()
        await under.stop()
    }

    @Test func `a request's order tracking is bounded and does not keep its payment from being answered`()
        async throws
    {
        let gate = CallGate()
        let handler = ScriptedPayments(track: { _ in await gate.wait() })
        let under = try await PaymentUnderTest(handler)
        let body = Under.update(#""paymentMethod":{"type":"Credit"}"#)
        let posts = (0..<CallbackSlots.maximumTracking).map { _ in
            Task { await under.flow.answer(.orderTracking, key: "fish", body).answer }
        }
        #expect(await eventually { handler.tracked == posts.count })
        #expect(await under.flow.answer(.orderTracking, key: "fish", body).answer == .busy)
        #expect(await under.pay() == .json(Under.success))
        gate.release()
        for post in posts { #expect(await post.value == .ok) }
        #expect(await under.flow.answer(.orderTracking, key: "fish", body).answer == .ok)
        await under.stop()
    }

    @Test func `records of payments are removed when the days of the business are over`() async throws {
        let directory = TemporaryDirectory()
        let records = PaymentRecords(dataDirectory: directory.path, logger: LogCollector().logger)
        let now = try #require(Timestamp(rfc3339: "2026-11-26T10:00:00Z"))
        var payment = Payment(currency: "USD", total: "1.00", shippingMethod: nil, sheet: [])
        _ = payment.begin(attempt: "a", shippingMethod: nil, at: now)
        let request = OpenRequest(
            .payment, business: Under.business, customer: Under.customer, requestIdentifier: "r",
            entry: ReplyID(record: 1, index: 0), payload: [], stateLifetime: .seconds(60),
            releaseLifetime: .zero, at: now)
        for days in [0, 29, 30, 31, 400] {
            await records.append(
                "a", of: payment, in: request, at: now.advanced(by: .seconds(-days * 86_400)), slug: "fish")
        }
        try records.files.sweep("fish", keeping: 30, at: now)
        try records.files.sweep("unknown", keeping: 30, at: now)
        let names = try Directory.names(in: directory.file("payments/fish")).sorted()
        #expect(
            names == ["2026-10-27", "2026-10-28", "2026-11-26"].map { "payments-\($0).jsonl" }, "\(names)")
    }

    @Test(arguments: [(true, false), (true, true), (false, false), (false, true)])
    func `a payment of a customer who is erased while the handler charges leaves nothing when it has ended`(
        isCharged: Bool, keepsPayments: Bool
    ) async throws {
        let gate = CallGate()
        let handler = ScriptedPayments { call in
            await gate.wait()
            if !isCharged { return .failure() }
            return .success(charged: call.sheet.total.amount, reference: "ch_1")
        }
        let under = try await PaymentUnderTest(handler)
        let post = Task { await under.pay() }
        #expect(await eventually { handler.paid.count == 1 })
        let report = try await under.store.erase([Under.customer], keepsPayments: keepsPayments)
        #expect(report.unreached.count == 1)
        gate.release()
        #expect(await post.value == (isCharged ? .json(Under.success) : Under.failed(.declined)))
        let isGone = try await eventually { try await under.store.requests.count() == 0 }
        #expect(isGone)
        #expect(handler.reversed.isEmpty)
        let folder = under.temporary.directory.file("data") + "/payments/fish"
        let states = try Directory.names(in: folder).flatMap { name in
            try File(folder + "/" + name, for: .reading).readAll().split(separator: 0x0A).map {
                try JSONDocument(Array($0)).root["state"]?.string
            }
        }
        // Reversals are recorded after the request has changed.
        if keepsPayments { #expect(states.starts(with: ["begun"])) } else { #expect(states == []) }
        await under.stop()
    }

    @Test func `a success that only a repeated post delivers is not reversed`() async throws {
        let handler = ScriptedPayments()
        let under = try await PaymentUnderTest(handler)
        let first = await under.flow.answer(.paymentGateway, key: "fish", Under.gateway())
        let second = await under.flow.answer(.paymentGateway, key: "fish", Under.gateway())
        #expect(first.answer == .json(Under.success) && second.answer == first.answer)
        first.wasDelivered?(.unsent)
        second.wasDelivered?(.sent)
        #expect(try await eventually { try await !under.payment().isBusy })
        #expect(try await under.payment().attempts.map(\.state) == [.succeeded])
        #expect(handler.paid.count == 1 && handler.reversed.isEmpty)
        #expect(under.flow.waitingPosts == 0)
        await under.stop()
    }

    @Test func `a withdrawn request accepts no payment, and a paid one cannot be withdrawn`() async throws {
        let handler = ScriptedPayments()
        let withdrawn = try await PaymentUnderTest(handler)
        #expect(try await withdrawn.results.withdraw(Under.identifier, of: Under.business))
        #expect(try await !withdrawn.results.withdraw(Under.identifier, of: Under.business))
        #expect(await withdrawn.pay() == Under.failed(.ended))
        #expect(handler.paid.isEmpty)
        await withdrawn.stop()
        let paid = try await PaymentUnderTest(handler)
        _ = await paid.pay()
        #expect(try await !paid.results.withdraw(Under.identifier, of: Under.business))
        await paid.stop()
    }

    @Test func `each state of an attempt is recorded without token and customer`() async throws {
        let under = try await PaymentUnderTest(ScriptedPayments())
        _ = await under.pay()
        #expect(try await eventually { try await !under.payment().isBusy })
        let folder = under.temporary.directory.file("data") + "/payments/fish"
        let name = try #require(try Directory.names(in: folder).first)
        let text = String(decoding: try File(folder + "/" + name, for: .reading).readAll(), as: UTF8.self)
        let lines = try text.split(separator: "\n").map { try JSONDocument(Array($0.utf8)).root }
        #expect(lines.map { $0["state"]?.string } == ["begun", "succeeded"])
        #expect(lines.allSatisfy { $0["attempt"]?.string == Under.attempt() })
        #expect(lines.last?["reference"]?.string == "ch_1")
        #expect(!text.contains("token-1") && !text.contains(Under.customer.rawValue))
        await under.stop()
    }
}
