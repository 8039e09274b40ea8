import BalloonJSON
import HandlerKit
import HandlerProtocol
import RetentionMessages
import TestSupport
import Testing

/// The App Store's question to a handler outside the process, and its answer.
struct RetentionTests {
    static let choices: [(choice: RetentionChoice, json: String)] = [
        (.message("stay"), #"{"message":"stay"}"#),
        (
            .promotionalOffer(message: "offer", RetentionChoice.Offer("half")),
            #"{"promotionalOffer":{"message":"offer","offer":"half"}}"#
        ),
        (
            .promotionalOffer(
                message: "offer",
                RetentionChoice.Offer(
                    "half", product: ProductID("p.yearly"), usesVersion1: true,
                    appAccountToken: RetentionID("a1b2c3d4-e5f6-7890-a1b2-c3d4e5f67890"))),
            #"{"promotionalOffer":{"message":"offer","offer":"half","product":"p.yearly","version":1,"appAccountToken":"a1b2c3d4-e5f6-7890-a1b2-c3d4e5f67890"}}"#
        ),
        (.advancedCommerce(Array(#"{"a":1}"#.utf8)), #"{"advancedCommerceInfo":{"a":1}}"#),
    ]
    static let refused = [
        "[]", #""stay""#, "1", #"{"message":""}"#, #"{"message":1}"#, #"{"messages":"stay"}"#,
        #"{"alternateProduct":{"message":"a"}}"#, #"{"promotionalOffer":{"message":"a"}}"#,
        #"{"promotionalOffer":{"message":"a","offer":"b","version":3}}"#, #"{"advancedCommerceInfo":[]}"#,
        #"{"message":"a","advancedCommerceInfo":{}}"#,
    ]

    static func request() throws -> RetentionRequest {
        RetentionRequest(
            originalTransactionID: "99371282", appAppleID: 1, productID: try #require(ProductID("p.monthly")),
            locale: try #require(StoreLocale("de-DE")),
            requestIdentifier: try #require(RetentionID("a1b2c3d4-e5f6-7890-a1b2-c3d4e5f67890")),
            environment: .production, signedMilliseconds: 1_790_000_000_000)
    }

    private func value(_ bytes: [UInt8]) throws -> JSONValue { try JSONDocument(bytes).root }

    @Test func `each choice is written and read as it was`() throws {
        for (choice, json) in Self.choices {
            #expect(String(decoding: RetentionCall.json(choice), as: UTF8.self) == json)
            #expect(try RetentionCall.choice(value(Array(json.utf8))) == choice)
        }
        for nothing in ["null", "{}"] {
            #expect(try RetentionCall.choice(value(Array(nothing.utf8))) == nil)
        }
        #expect(RetentionCall.json(nil) == Array("{}".utf8))
    }

    @Test func `another product is written and read as it was`() throws {
        let product = try #require(ProductID("p.yearly"))
        for plan in [nil, "MONTHLY"] {
            let choice = RetentionChoice.alternateProduct(
                message: "switch", product: product, billingPlanType: plan)
            #expect(try RetentionCall.choice(value(RetentionCall.json(choice))) == choice)
        }
    }

    @Test func `an answer of another form is refused with the place in the answer`() throws {
        for json in Self.refused {
            #expect(throws: AnswerRefusal.self, "\(json)") {
                try RetentionCall.choice(value(Array(json.utf8)))
            }
        }
        let line = #"{"jsonrpc":"2.0","id":1,"result":{"promotionalOffer":{"message":"a","offer":1}}}"#
        let result = try #require(try value(Array(line.utf8))["result"])
        let refusal = #expect(throws: AnswerRefusal.self) { try RetentionCall.choice(result) }
        #expect(refusal?.problems.map(\.pointer) == ["/promotionalOffer/offer"])
    }

    @Test func `a question is read as it was written`() throws {
        let request = try Self.request()
        let logger = LogCollector().logger
        let context = RetentionContext(app: "shop", deadline: .now + .milliseconds(400), logger: logger)
        let params = try value(JSONWriter.object { RetentionCall.write(request, context, to: &$0) })
        #expect((0...400).contains(params["deadlineMs"]?.int ?? 401))
        let read = try RetentionCall.read(params, logger: logger)
        #expect(read.request == request)
        #expect(read.context.app == "shop")
        for member in ["app", "deadlineMs", "retention"] {
            let text = String(decoding: params.text, as: UTF8.self).replacing(
                "\"\(member)\"", with: "\"other\"")
            #expect(throws: HandlerProtocolError.malformed(member)) {
                try RetentionCall.read(value(Array(text.utf8)), logger: logger)
            }
        }
    }

    @Test func `an introduction names retention beside the kinds`() throws {
        for (json, answers) in [(#"["text","retention"]"#, true), (#"["text"]"#, false), (#""*""#, false)] {
            let result = try value(Array(#"{"protocolVersion":"1","events":\#(json)}"#.utf8))
            let introduction = try Introduction(result)
            #expect(introduction.answersRetention == answers)
            let written = try value(JSONWriter.object { introduction.write(to: &$0) })
            #expect(try Introduction(written) == introduction)
        }
    }
}
