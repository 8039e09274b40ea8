import BalloonJSON
import RetentionMessages
import Testing

private func value(_ text: String) throws -> JSONValue { try JSONDocument(Array(text.utf8)).root }

private let id = "a1b2c3d4-e5f6-7890-a1b2-c3d4e5f67890"

private let claims = #"""
    {"originalTransactionId":"99371282","appAppleId":1234567890,"productId":"p.monthly","userLocale":"en-US","requestIdentifier":"\#(id)","environment":"Production","signedDate":1790000000000}
    """#

private func request(_ transaction: String = "1", product: String = "p.monthly", locale: String = "en-US")
    throws
    -> RetentionRequest
{
    RetentionRequest(
        originalTransactionID: transaction, appAppleID: 1, productID: try #require(ProductID(product)),
        locale: try #require(StoreLocale(locale)), requestIdentifier: try #require(RetentionID(id)),
        environment: .sandbox, signedMilliseconds: 1)
}

@Suite struct AnswerTests {
    @Test(.timeLimit(.minutes(1)))
    func `a hundred problems of an answer are listed, with their places`() throws {
        let members = (0..<30_000).map { #""n\#($0)":1"# }.joined(separator: ",\n")
        let (choice, problems) = RetentionChoice.read(try value("{\(members)}"))
        #expect(choice == nil)
        #expect(problems.count == 100)
        #expect(problems.map(\.line) == problems.map(\.line).sorted())
        #expect(Set(problems.map(\.pointer)).isSuperset(of: ["/n0", "/n50"]))
    }

    @Test func `the claims of a question are read and written as they were`() throws {
        let request = try RetentionRequest(claims: value(claims))
        #expect(request.originalTransactionID == "99371282")
        #expect(request.environment == .production)
        #expect(String(decoding: request.json, as: UTF8.self) == claims)
        #expect(
            try RetentionRequest(claims: value(claims.replacing("1234567890", with: "null"))).appAppleID
                == nil)
        #expect(
            try RetentionRequest(claims: value(claims.replacing("1234567890", with: "0"))).appAppleID == 0)
    }

    private static let defects: [(from: String, to: String, member: RetentionRequest.Member)] = [
        ("\"99371282\"", "99371282", .originalTransactionId), ("99371282", "", .originalTransactionId),
        ("1234567890", "-1", .appAppleId), ("1234567890", "1.5", .appAppleId),
        ("1234567890", "\"1\"", .appAppleId),
        ("p.monthly", "p monthly", .productId), ("en-US", "", .userLocale),
        ("\"en-US\"", "7", .userLocale),
        (id, "1", .requestIdentifier),
        ("Production", "Xcode", .environment), ("Production", "LocalTesting", .environment),
        ("1790000000000", "0", .signedDate), ("1790000000000", "1e30", .signedDate),
        ("\"signedDate\"", "\"signed\"", .signedDate),
    ]

    @Test func `a question with a missing or malformed member is refused for it`() throws {
        for (from, to, member) in Self.defects {
            let text = claims.replacing(from, with: to)
            #expect(throws: RetentionRequest.Defect.member(member), "\(to)") {
                try RetentionRequest(claims: value(text))
            }
        }
        #expect(throws: RetentionRequest.Defect.notAnObject) { try RetentionRequest(claims: value("[]")) }
    }

    @Test(arguments: ["en_US", "EN-us", "en-us", "en-Latn-US-posix", "sr@latin", "x", "en-US\u{1F34F}"])
    func `a question in an unfamiliar locale gets the rule without a locale`(_ locale: String) throws {
        let request = try RetentionRequest(claims: value(claims.replacing("en-US", with: locale)))
        #expect(request.locale.code == locale && !request.locale.isFamiliar)
        #expect(String(decoding: request.json, as: UTF8.self).contains(#""userLocale":"\#(locale)""#))
        let rules = AnswerRules([
            .init(locale: StoreLocale("en"), answer: .message("english")), .init(answer: .message("stay")),
        ])
        #expect(rules.answer(to: request)?.message == "stay")
        #expect(AnswerRules(Array(rules.rules.prefix(1))).answer(to: request) == nil)
    }

    @Test func `an answer has exactly one of the four shapes`() throws {
        let message = try #require(RetentionID(id))
        let product = try #require(ProductID("p.yearly"))
        let version1 = SignedOffer.Version1(
            encodedSignature: "AAAA", productID: product, nonce: message, timestamp: 5, keyID: "K",
            offerIdentifier: "half", appAccountToken: nil)
        let answers: [(answer: RetentionAnswer, json: String)] = [
            (.message(message), #"{"message":{"messageIdentifier":"ID"}}"#),
            (
                .alternateProduct(message, product, billingPlanType: nil),
                #"{"alternateProduct":{"messageIdentifier":"ID","productId":"p.yearly"}}"#
            ),
            (
                .promotionalOffer(message, .version2("a.b.c")),
                #"{"promotionalOffer":{"messageIdentifier":"ID","promotionalOfferSignatureV2":"a.b.c"}}"#
            ),
            (
                .promotionalOffer(message, .version1(version1)),
                #"{"promotionalOffer":{"messageIdentifier":"ID","promotionalOfferSignatureV1":{"encodedSignature":"AAAA","productId":"p.yearly","nonce":"ID","timestamp":5,"keyId":"K","offerIdentifier":"half"}}}"#
            ),
            (.advancedCommerce(Array("{}".utf8)), #"{"advancedCommerceInfo":{}}"#),
        ]
        for (answer, json) in answers {
            #expect(
                String(decoding: answer.json, as: UTF8.self) == json.replacing("\"ID\"", with: "\"\(id)\""))
        }
    }

    @Test func `a choice is read from each shape, and from nothing else`() throws {
        let product = try #require(ProductID("p.yearly"))
        let read: [(text: String, choice: RetentionChoice)] = [
            (#"{"message":"stay"}"#, .message("stay")),
            (
                #"{"alternateProduct":{"message":"m","product":"p.yearly"}}"#,
                .alternateProduct(message: "m", product: product)
            ),
            (
                #"{"promotionalOffer":{"message":"m","offer":"half"}}"#,
                .promotionalOffer(message: "m", RetentionChoice.Offer("half"))
            ),
            (
                #"{"promotionalOffer":{"message":"m","offer":"half","product":"p.yearly","version":1,"appAccountToken":"ID"}}"#
                    .replacing("ID", with: id),
                .promotionalOffer(
                    message: "m",
                    RetentionChoice.Offer(
                        "half", product: product, usesVersion1: true, appAccountToken: RetentionID(id)))
            ),
            (#"{"advancedCommerceInfo":{"a":1}}"#, .advancedCommerce(Array(#"{"a":1}"#.utf8))),
        ]
        for (text, choice) in read {
            #expect(try RetentionChoice.read(value(text)).choice == choice, "\(text)")
        }
        let refused = [
            "{}", "[]", #"{"message":""}"#, #"{"message":"a","advancedCommerceInfo":{}}"#, #"{"other":1}"#,
            #"{"message":"a","message":"b"}"#, #"{"alternateProduct":{"message":"m"}}"#,
            #"{"alternateProduct":{"message":"m","product":"p q"}}"#,
            #"{"promotionalOffer":{"message":"m"}}"#,
            #"{"promotionalOffer":{"message":"m","offer":"o","version":3}}"#,
            #"{"promotionalOffer":{"message":"m","offer":"o","appAccountToken":"x"}}"#,
            #"{"promotionalOffer":{"message":"m","offer":"o","signature":"x"}}"#,
            #"{"advancedCommerceInfo":[]}"#,
        ]
        for text in refused {
            let (choice, problems) = try RetentionChoice.read(value(text))
            #expect(choice == nil && !problems.isEmpty, "\(text)")
        }
    }

    private static let rules = #"""
        {"rules":[{"product":"p.yearly","answer":{"message":"yearly"}},
        {"product":"p.monthly","locale":"de-DE","answer":{"message":"germany"}},
        {"locale":"de","answer":{"message":"german"}},{"locale":"en","answer":{"message":"english"}},
        {"answer":{"message":"all"}}]}
        """#

    @Test func `the first rule for product and locale decides, with the language as fallback`() throws {
        let rules = try #require(try AnswerRules.read(value(Self.rules)).rules)
        let expected: [(product: String, locale: String, message: String)] = [
            ("p.yearly", "de-DE", "yearly"), ("p.monthly", "de-DE", "germany"),
            ("p.monthly", "de-AT", "german"),
            ("p.monthly", "en-US", "english"), ("p.monthly", "en", "english"), ("p.monthly", "fr-FR", "all"),
            ("p.weekly", "de-DE", "german"),
        ]
        for (product, locale, message) in expected {
            let answer = try rules.answer(to: request(product: product, locale: locale))
            #expect(answer == .message(message), "\(product) \(locale)")
        }
        let skipped = try rules.answer(to: request()) { $0 != .message("english") }
        #expect(skipped == .message("all"))
        #expect(try rules.answer(to: request()) { _ in false } == nil)
        #expect(try AnswerRules().answer(to: request()) == nil)
    }

    @Test func `a share is stable and near its percentage`() throws {
        let text = #"{"rules":[{"share":30,"answer":{"message":"some"}},{"answer":{"message":"rest"}}]}"#
        let rules = try #require(try AnswerRules.read(value(text)).rules)
        let answers = try (0..<2000).map { try rules.answer(to: request("\($0)")) }
        #expect(try answers == (0..<2000).map { try rules.answer(to: request("\($0)")) })
        let share = answers.count { $0 == .message("some") }
        #expect((500...700).contains(share), "\(share) of 2,000")
    }

    @Test func `a broken rule is reported at its place`() throws {
        let broken: [(text: String, pointer: String)] = [
            ("[]", ""), ("{}", "/rules"), (#"{"rules":{}}"#, "/rules"),
            (#"{"rules":[{}]}"#, "/rules/0/answer"),
            (#"{"rules":[{"answer":{"message":"a"},"share":0}]}"#, "/rules/0/share"),
            (#"{"rules":[{"answer":{"message":"a"},"share":101}]}"#, "/rules/0/share"),
            (#"{"rules":[{"answer":{"message":"a"},"locale":"en_US"}]}"#, "/rules/0/locale"),
            (#"{"rules":[{"answer":{"message":"a"},"product":""}]}"#, "/rules/0/product"),
            (#"{"rules":[{"answer":{"message":"a"},"when":1}]}"#, "/rules/0/when"),
        ]
        for (text, pointer) in broken {
            let (rules, problems) = try AnswerRules.read(value(text))
            #expect(rules == nil)
            #expect(problems.map(\.pointer) == [pointer], "\(text)")
        }
    }
}
