import BalloonJSON
import BusinessMessages
import Testing

struct PaymentSheetTests {
    private typealias Problem = PaymentAnswerProblem

    private static func sheet(currency: String = "USD", items: Bool = true) throws -> PaymentSheet {
        var request = PaymentRequest(
            OutboundBubble("Halibut"), total: .init("Sam's Fish", amount: "63.99"),
            lineItems: items ? [.init("Halibut", amount: "59.00"), .init("Shipping", amount: "4.99")] : [],
            currency: currency, country: "US", networks: ["visa"])
        request.shippingMethods = [
            .init("cheap", label: "Ground", detail: "5 days", amount: "4.99"),
            .init("dear", label: "Air", detail: "1 day", amount: "29.99"),
        ]
        return try PaymentSheet(request)
    }

    private static let dearer =
        #"{"newTotal":{"label":"Sam's Fish","amount":"88.99","type":"final"},"newLineItems":[{"label":"Halibut","amount":"59.00","type":"final"},{"label":"Air","amount":"29.99","type":"final"}]}"#

    @Test func `an answered update has the whole total and all line items, also when nothing changed`() throws
    {
        let sheet = try Self.sheet()
        let answer = sheet.answer(to: .unchanged)
        #expect(
            text(answer)
                == #"{"newTotal":{"label":"Sam's Fish","amount":"63.99","type":"final"},"newLineItems":[{"label":"Halibut","amount":"59.00","type":"final"},{"label":"Shipping","amount":"4.99","type":"final"}]}"#
        )
        let update = try SheetUpdate(json: try json(Self.dearer).root)
        let next = try sheet.applying(update, to: .shippingMethodUpdate)
        #expect(next.totalMinorUnits == 8899)
        #expect(text(next.answer(to: update)) == Self.dearer)
        #expect(text(update.json) == Self.dearer)
        #expect(try next.applying(.unchanged, to: .paymentMethodUpdate) == next)
    }

    @Test func `an answer to an update of a request without line items has no list of them`() throws {
        let sheet = try Self.sheet(items: false)
        #expect(
            text(sheet.answer(to: .unchanged))
                == #"{"newTotal":{"label":"Sam's Fish","amount":"63.99","type":"final"}}"#)
    }

    @Test func `an answer to another address has the new shipping methods and the errors`() throws {
        let answer =
            #"{"newShippingMethods":[{"identifier":"a","label":"Boat","detail":"30 days","amount":"4.99"}],"errors":[{"code":"shippingContactInvalid","contactField":"postalCode","message":"ZIP Code is invalid"}]}"#
        let update = try SheetUpdate(json: try json(answer).root)
        let sheet = try Self.sheet().applying(update, to: .shippingContactUpdate)
        #expect(sheet.shippingMethods.map(\.identifier) == ["a"])
        let sent = try JSONDocument(sheet.answer(to: update)).root
        #expect(sent["newShippingMethods"]?[0]?["label"]?.string == "Boat")
        #expect(sent["errors"]?[0]?["contactField"]?.string == "postalCode")
        #expect(sent["newTotal"]?["amount"]?.string == "63.99")
    }

    @Test(arguments: [
        ("[]", Problem(.object, at: "the answer")),
        (#"{"newTotal":{"label":"S","amount":"1,00"}}"#, Problem(.amount, at: "newTotal.amount")),
        (#"{"newTotal":{"label":"S","amount":"NaN"}}"#, Problem(.amount, at: "newTotal.amount")),
        (#"{"newTotal":{"label":"S","amount":"1e2"}}"#, Problem(.amount, at: "newTotal.amount")),
        (#"{"newTotal":{"label":"S","amount":"+1"}}"#, Problem(.amount, at: "newTotal.amount")),
        (#"{"newTotal":{"label":"S","amount":"63.990"}}"#, Problem(.amount, at: "newTotal.amount")),
        (#"{"newTotal":{"label":"S","amount":"0"}}"#, Problem(.sign, at: "newTotal.amount")),
        (#"{"newTotal":{"label":"S","amount":"-1"}}"#, Problem(.sign, at: "newTotal.amount")),
        (#"{"newTotal":{"label":"","amount":"1"}}"#, Problem(.text, at: "newTotal.label")),
        (#"{"newTotal":{"label":"S","amount":63.99}}"#, Problem(.type, at: "newTotal")),
        (#"{"newTotal":{"label":"S","amount":"1","type":"done"}}"#, Problem(.type, at: "newTotal")),
        (#"{"newTotal":{"label":"S","amount":"63.98"}}"#, Problem(.sum, at: "newLineItems")),
        (#"{"newLineItems":[]}"#, Problem(.count, at: "newLineItems")),
        (#"{"newLineItems":{}}"#, Problem(.type, at: "newLineItems")),
        (#"{"newLineItems":[{"label":"A","amount":"63.99"},7]}"#, Problem(.type, at: "newLineItems[1]")),
        (
            #"{"newLineItems":[{"label":"A","amount":"63.9"},{"label":"B","amount":".09"}]}"#,
            Problem(.amount, at: "newLineItems[1].amount")
        ),
        (#"{"newShippingMethods":[]}"#, Problem(.shippingMethods, at: "newShippingMethods")),
        (#"{"endpoints":{}}"#, Problem(.serversMember, at: "endpoints")),
        (#"{"merchantSession":{}}"#, Problem(.serversMember, at: "merchantSession")),
        (#"{"total":"1"}"#, Problem(.unknownMember, at: "total")),
        (#"{"errors":[{"code":"broken"}]}"#, Problem(.errorCode, at: "errors[0].code")),
        (
            #"{"errors":[{"code":"shippingContactInvalid","contactField":"zip"}]}"#,
            Problem(.contactField, at: "errors[0].contactField")
        ),
        (
            #"{"errors":[{"code":"unknown","contactField":"name"}]}"#,
            Problem(.contactField, at: "errors[0].contactField")
        ),
        (#"{"errors":[{"code":"unknown","message":7}]}"#, Problem(.type, at: "errors[0].message")),
    ])
    func `an update that Apple Pay would not understand is refused by the name of its field`(
        answer: String, problem: PaymentAnswerProblem
    ) throws {
        let error = #expect(throws: PaymentAnswerProblem.self) {
            let update = try SheetUpdate(json: try json(answer).root)
            _ = try Self.sheet().applying(update, to: .shippingMethodUpdate)
        }
        #expect(error == problem)
    }

    @Test(arguments: [
        (
            #"{"newTotal":{"label":"S","amount":"63.98","type":"Pending"},"newLineItems":[{"label":"A","amount":"1","type":"pending"}]}"#,
            6398
        ),
        (#"{"newTotal":{"label":"S","amount":"1"},"newLineItems":[{"label":"A","amount":"1.0"}]}"#, 100),
        (#"{"newTotal":null,"newLineItems":null,"errors":[]}"#, 6399), ("{}", 6399),
    ])
    func `an update with pending items, other spellings or nothing is accepted`(
        answer: String, units: Int
    ) throws {
        let update = try SheetUpdate(json: try json(answer).root)
        #expect(try Self.sheet().applying(update, to: .paymentMethodUpdate).totalMinorUnits == units)
    }

    @Test(arguments: [
        (
            #"[{"identifier":"a","label":"A","amount":"1"},{"identifier":"a","label":"B","amount":"1"}]"#,
            Problem(.shippingIdentifiers, at: "newShippingMethods[1].identifier")
        ),
        (
            #"[{"identifier":"","label":"A","amount":"1"}]"#,
            Problem(.text, at: "newShippingMethods[0].identifier")
        ),
        (
            #"[{"identifier":"a","label":"A","amount":"-1"}]"#,
            Problem(.sign, at: "newShippingMethods[0].amount")
        ),
        (#"[{"label":"A","amount":"1"}]"#, Problem(.type, at: "newShippingMethods[0]")),
    ])
    func `new shipping methods have unique identifiers and costs that are not negative`(
        methods: String, problem: PaymentAnswerProblem
    ) throws {
        let error = #expect(throws: PaymentAnswerProblem.self) {
            let update = try SheetUpdate(json: try json(#"{"newShippingMethods":\#(methods)}"#).root)
            _ = try Self.sheet().applying(update, to: .shippingContactUpdate)
        }
        #expect(error == problem)
    }

    @Test(arguments: [(100, true), (101, false)])
    func `a sheet has at most 100 line items and 100 shipping methods`(count: Int, isSound: Bool) throws {
        let items = SheetUpdate(
            total: .init("S", amount: "\(count)"),
            lineItems: (0..<count).map { .init("\($0)", amount: "1") })
        let methods = SheetUpdate(
            shippingMethods: (0..<count).map { .init("\($0)", label: "L", detail: "", amount: "1") })
        for update in [items, methods] {
            let isAccepted = (try? Self.sheet().applying(update, to: .shippingContactUpdate)) != nil
            #expect(isAccepted == isSound)
        }
    }

    @Test(arguments: [(20, true), (21, false)])
    func `an answer has at most 20 errors`(count: Int, isSound: Bool) throws {
        let errors = Array(repeating: PaymentError(.unknown), count: count)
        let sheet = try Self.sheet()
        #expect(
            ((try? sheet.applying(SheetUpdate(errors: errors), to: .paymentMethodUpdate)) != nil) == isSound)
        #expect(((try? PaymentOutcome.failure(errors).check(for: sheet)) != nil) == isSound)
    }

    @Test(arguments: [
        (#"{"status":"STATUS_SUCCESS","charged":"63.99","reference":"ch_1"}"#, nil),
        (
            #"{"status":"STATUS_SUCCESS","charged":"63.98","reference":"ch_1"}"#,
            Problem(.charged, at: "charged")
        ),
        (
            #"{"status":"STATUS_SUCCESS","charged":"63,99","reference":"ch_1"}"#,
            Problem(.amount, at: "charged")
        ),
        (#"{"status":"STATUS_SUCCESS","charged":63.99,"reference":"ch_1"}"#, Problem(.type, at: "charged")),
        (#"{"status":"STATUS_SUCCESS","charged":"63.99"}"#, Problem(.type, at: "reference")),
        (#"{"status":"STATUS_SUCCESS","charged":"63.99","reference":""}"#, Problem(.text, at: "reference")),
        (
            #"{"status":"STATUS_SUCCESS","charged":"63.99","reference":"r","errors":[{"code":"unknown"}]}"#,
            Problem(.count, at: "errors")
        ),
        (#"{"status":"STATUS_FAILURE"}"#, nil),
        (
            #"{"status":"STATUS_FAILURE","errors":[{"code":"billingContactInvalid","contactField":"name"}]}"#,
            nil
        ),
        (#"{"status":"STATUS_PIN_REQUIRED"}"#, Problem(.status, at: "status")),
        (#"{"status":"paid"}"#, Problem(.status, at: "status")), ("{}", Problem(.status, at: "status")),
        (#"{"status":"STATUS_FAILURE","endpoints":{}}"#, Problem(.serversMember, at: "endpoints")),
    ])
    func `an outcome is accepted only with a known status and the sheet's sum`(
        answer: String, problem: PaymentAnswerProblem?
    ) throws {
        var found: PaymentAnswerProblem?
        let document = try json(answer)
        let sheet = try Self.sheet()
        do throws(PaymentAnswerProblem) {
            let outcome = try PaymentOutcome(json: document.root)
            #expect(text(outcome.json) == answer)
            try outcome.check(for: sheet)
        } catch {
            found = error
        }
        #expect(found == problem)
    }

    @Test func `the device sees the status and the errors of an outcome, not the sum and the reference`() {
        let success = PaymentOutcome.success(charged: "63.99", reference: "ch_1")
        #expect(text(success.answer) == #"{"status":"STATUS_SUCCESS"}"#)
        let failure = PaymentOutcome.failure([
            PaymentError(.shippingContactInvalid, field: .postalCode, message: "ZIP Code is invalid")
        ])
        #expect(
            text(failure.answer)
                == #"{"status":"STATUS_FAILURE","errors":[{"code":"shippingContactInvalid","contactField":"postalCode","message":"ZIP Code is invalid"}]}"#
        )
    }
}
