import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonWire
import BusinessMessages
import Payments
import TestSupport
import Testing

@testable import MessageServer
@testable import MessageStore

/// Gateway calls of a business that decrypts payment tokens, with tokens of a simulated Apple.
@Suite struct PaymentTokenFlowTests {
    private typealias Under = PaymentUnderTest

    private static let merchant = "merchant.com.example.fish"
    private static let card = "4109370251004320"

    /// The change of one property of a token.
    private enum Change: CaseIterable {
        case none, amount, currency, signingTime, root, merchant, otherKey, version, signature
    }

    private let issuer: PaymentTokenIssuer
    private let key: PaymentTokenKey
    private let decryption: ApplePayConfiguration.Decryption

    init() throws {
        issuer = try PaymentTokenIssuer(at: SystemClock.secondsSince1970())
        key = try PaymentTokenKey(
            pem: Secret(File(Fixture.directory + "/tls/processing-key.pem", for: .reading).readAll()),
            merchantIdentifier: Self.merchant)
        var decryption = ApplePayConfiguration.Decryption(keys: [key])
        decryption.root = try RootCertificate(issuer.root)
        self.decryption = decryption
    }

    /// The value of `paymentData`.
    private func paymentData(_ change: Change, at now: Timestamp) throws -> [UInt8] {
        let plain = JSONWriter.object { writer in
            writer.field("applicationPrimaryAccountNumber", Self.card)
            writer.field("currencyCode", change == .currency ? "978" : "840")
            writer.field("transactionAmount", change == .amount ? 6398 : 6399)
        }
        let seconds = Int(now.milliseconds / 1000) - (change == .signingTime ? 301 : 0)
        let signer = change == .root ? try PaymentTokenIssuer(at: SystemClock.secondsSince1970()) : issuer
        let recipient = change == .otherKey ? nil : key.publicKey
        let data = try signer.paymentData(
            plain, to: recipient, merchantIdentifier: change == .merchant ? "merchant.other" : Self.merchant,
            signedAt: seconds)
        let text = String(decoding: data, as: UTF8.self)
        switch change {
        case .version: return Array(text.replacing("EC_v1", with: "RSA_v1").utf8)
        case .signature:
            // Another transaction than the signed one.
            let digits = String(repeating: "0", count: 64)
            return Array(
                text.replacing(/"transactionId":"[0-9a-f]{64}"/, with: #""transactionId":"\#(digits)""#).utf8)
        default: return data
        }
    }

    private func body(_ paymentData: [UInt8]) -> [UInt8] {
        let data = String(decoding: paymentData, as: UTF8.self)
        return Array(
            #"{"requestIdentifier":"\#(Under.identifier)","version":1,"payment":{"paymentToken":{"paymentData":\#(data)},"shippingMethod":{"identifier":"cheap"}}}"#
                .utf8)
    }

    private func pay(_ under: PaymentUnderTest, _ paymentData: [UInt8]) async -> PaymentFlow.Answer {
        let reply = await under.flow.answer(.paymentGateway, key: "fish", body(paymentData))
        reply.wasDelivered?(.sent)
        return reply.answer
    }

    /// Whether a file below the data directory or a line of the log contains a text.
    private func leaks(_ text: String, _ under: PaymentUnderTest) throws -> Bool {
        let bytes = Array(text.utf8)
        return try under.log.lines.contains { $0.contains(text) }
            || Self.files(below: under.temporary.directory.path)
                .contains { try File($0, for: .reading).readAll().contains(bytes) }
    }

    private static func files(below folder: String) throws -> [String] {
        try Directory.names(in: folder).flatMap { name -> [String] in
            let path = folder + "/" + name
            return Directory.isDirectory(path) ? try files(below: path) : [path]
        }
    }

    @Test func `the handler gets the content of a token, and no file or log line does`() async throws {
        let handler = ScriptedPayments { call in
            let token = try JSONDocument(try #require(call.decryptedToken).bytes).root
            #expect(token["applicationPrimaryAccountNumber"]?.string == Self.card)
            return .success(charged: call.sheet.total.amount, reference: "ch_1")
        }
        let under = try await PaymentUnderTest(handler, decryption: decryption)
        let data = try paymentData(.none, at: under.clock.clock.now())
        #expect(await pay(under, data) == .json(Under.success))
        // The answer is repeated when the token is too old to be verified again.
        under.clock.advance(by: .seconds(301))
        #expect(await pay(under, data) == .json(Under.success))
        #expect(handler.paid.count == 1)
        await under.stop()
        #expect(try !leaks(Self.card, under))
        #expect(try !leaks(try #require(try JSONDocument(data).root["data"]?.string), under))
    }

    @Test(arguments: [
        (PaymentAttempt.State.succeeded, PaymentFailure.paid), (.begun, .otherAttempt),
    ])
    func `a wrong token tells of the charge that an earlier attempt may have made`(
        state: PaymentAttempt.State, failure: PaymentFailure
    ) async throws {
        let under = try await PaymentUnderTest(
            ScriptedPayments(), attempts: [("earlier", state)], decryption: decryption)
        let change = try #require(Change.allCases.first { ![.none, .amount, .currency].contains($0) })
        #expect(
            await pay(under, try paymentData(change, at: under.clock.clock.now())) == Under.failed(failure))
        await under.stop()
    }

    @Test(arguments: Change.allCases.filter { $0 != .none })
    private func `a token with one wrong property gets STATUS_FAILURE, and the handler is not called`(
        change: Change
    ) async throws {
        let handler = ScriptedPayments()
        let under = try await PaymentUnderTest(handler, decryption: decryption)
        let now = under.clock.clock.now()
        let isOfAnotherSum = change == .amount || change == .currency
        #expect(
            await pay(under, try paymentData(change, at: now))
                == Under.failed(isOfAnotherSum ? .totalChanged : .notCharged))
        #expect(handler.paid.isEmpty)
        #expect(under.log.lines.contains { $0.contains("refused") }, "\(under.log.lines)")
        #expect(await pay(under, try paymentData(.none, at: now)) == .json(Under.success))
        await under.stop()
    }

    @Test func `a transaction is used for one attempt within a day, also after a restart`() async throws {
        let under = try await PaymentUnderTest(ScriptedPayments(), decryption: decryption)
        let now = under.clock.clock.now()
        let data = try paymentData(.none, at: now)
        #expect(await pay(under, data) == .json(Under.success))
        await under.stop()

        let callback = try PaymentCallback(.paymentGateway, try JSONDocument(body(data)).root)
        let uses = try under.records.transactions(
            of: "fish", since: now.advanced(by: .zero - PaymentTokens.lifetime))
        let own = try #require(uses.first?.attempt)
        let tokens = PaymentTokens()
        for use in uses { tokens.remember(use.transaction, of: use.attempt, at: use.at) }
        func refusal(for attempt: String, at time: Timestamp = now) async -> PaymentTokens.Refusal? {
            switch await tokens.open(callback, for: attempt, with: decryption, at: time) {
            case .success: nil
            case .failure(let refusal): refusal
            }
        }
        #expect(await refusal(for: own) == nil)
        #expect(await refusal(for: "another") == .transactionUsed)
        #expect(
            try under.records.transactions(of: "fish", since: now.advanced(by: .seconds(1))).isEmpty)
    }

    @Test func `a transaction may be used again after a day, and the remembered ones are bounded`()
        async throws
    {
        let now = Timestamp.now()
        let data = try paymentData(.none, at: now)
        let callback = try PaymentCallback(.paymentGateway, try JSONDocument(body(data)).root)
        let tokens = PaymentTokens(maximumTransactions: 2)
        tokens.remember("a", of: "1", at: now)
        tokens.remember("b", of: "2", at: now)
        tokens.remember("c", of: "3", at: now)
        guard
            case .failure(.tooManyTransactions) = await tokens.open(
                callback, for: "4", with: decryption, at: now)
        else {
            Issue.record("a third transaction was remembered")
            return
        }
        let old = PaymentTokens(maximumTransactions: 2)
        old.remember("a", of: "1", at: now.advanced(by: .zero - PaymentTokens.lifetime))
        old.remember("b", of: "2", at: now)
        guard case .success = await old.open(callback, for: "4", with: decryption, at: now) else {
            Issue.record("an old transaction was not removed")
            return
        }
    }

    @Test func `a full queue of signatures refuses the token`() async throws {
        let data = try paymentData(.none, at: .now())
        let callback = try PaymentCallback(.paymentGateway, try JSONDocument(body(data)).root)
        let tokens = PaymentTokens(threads: PublicKeyThreads(maximumThreads: 1, maximumJobs: 0))
        guard case .failure(.busy) = await tokens.open(callback, for: "1", with: decryption, at: .now())
        else {
            Issue.record("the token was opened")
            return
        }
    }
}
