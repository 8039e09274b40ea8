import BalloonPOSIX
import BalloonWire
import BusinessMessages
import Payments
import Synchronization

/// Decrypts payment tokens, and accepts each transaction for only one attempt within a day.
final class PaymentTokens: Sendable {
    /// A verified token that Apple signed for the merchant, and whose transaction belongs to this attempt
    /// only.
    struct Opened: Sendable {
        private let token: DecryptedPaymentToken
        /// The SHA-256 of the transaction's identifier, in hexadecimal.
        let transaction: String

        fileprivate init(_ token: DecryptedPaymentToken, transaction: String) {
            self.token = token
            self.transaction = transaction
        }

        /// The decrypted token, a JSON object with the number of a card: never stored or logged.
        var json: Secret { token.json }

        /// Whether the token is for this sum, in the sheet's currency.
        func isFor(_ total: String, on sheet: PaymentSheet) -> Bool {
            token.currencyNumber == sheet.currencyNumber
                && token.amountMinorUnits == sheet.minorUnits(of: total)
        }
    }

    /// The reason to refuse a token; contains no content of the token.
    enum Refusal: Error, Hashable {
        /// The token is malformed, not signed by Apple, too old, or encrypted for another key.
        case token(PaymentTokenDefect)
        /// The transaction was used for another attempt within a day.
        case transactionUsed
        /// The maximum number of remembered transactions is reached.
        case tooManyTransactions
        /// Too many operations wait for the public-key threads.
        case busy
    }

    /// The time for which a transaction is remembered.
    static let lifetime = Duration.seconds(86_400)
    /// The maximum number of remembered transactions; further tokens are refused.
    static let maximumTransactions = 1_000_000

    private struct Use {
        let attempt: String
        let at: Timestamp
    }

    private struct Uses {
        var byTransaction: [String: Use] = [:]
        /// The number of transactions that the last removal of old ones left.
        var kept = 0
    }

    private let threads: PublicKeyThreads
    private let maximumTransactions: Int
    private let uses = Mutex(Uses())

    init(threads: PublicKeyThreads = .shared, maximumTransactions: Int = maximumTransactions) {
        self.threads = threads
        self.maximumTransactions = maximumTransactions
    }

    /// Verifies and decrypts the token of a gateway call, and records its transaction as used by this
    /// attempt.
    ///
    /// The same attempt may use the transaction again.
    func open(
        _ callback: PaymentCallback, for attempt: String, with decryption: ApplePayConfiguration.Decryption,
        at now: Timestamp
    ) async -> Result<Opened, Refusal> {
        guard let data = callback.payment["paymentToken"]?["paymentData"] else {
            return .failure(.token(.malformed("paymentData")))
        }
        let opened = await threads.run { () -> Result<Opened, Refusal> in
            do throws(PaymentTokenDefect) {
                let token = try EncryptedPaymentToken(data)
                let plain = try token.open(
                    with: decryption.keys, root: decryption.root, now: Int(now.milliseconds / 1000))
                return .success(
                    Opened(plain, transaction: Hex.encode(SHA256.hash(token.transactionID))))
            } catch {
                return .failure(.token(error))
            }
        }
        guard case .success(let token)? = opened else { return opened ?? .failure(.busy) }
        if let refusal = use(token.transaction, for: attempt, at: now) { return .failure(refusal) }
        return .success(token)
    }

    /// Records a transaction that an earlier process accepted.
    func remember(_ transaction: String, of attempt: String, at time: Timestamp) {
        uses.withLock { uses in
            guard uses.byTransaction.count < maximumTransactions else { return }
            uses.byTransaction[transaction] = Use(attempt: attempt, at: time)
        }
    }

    private func use(_ transaction: String, for attempt: String, at now: Timestamp) -> Refusal? {
        uses.withLock { uses in
            let oldest = now.advanced(by: .zero - Self.lifetime)
            if let use = uses.byTransaction[transaction], use.at > oldest {
                return use.attempt == attempt ? nil : .transactionUsed
            }
            // Remove old entries only when the number of entries has doubled: a use then costs constant time
            // on average.
            if uses.byTransaction.count >= min(maximumTransactions, max(1024, uses.kept * 2)) {
                uses.byTransaction = uses.byTransaction.filter { $0.value.at > oldest }
                uses.kept = uses.byTransaction.count
            }
            guard uses.byTransaction.count < maximumTransactions else { return .tooManyTransactions }
            uses.byTransaction[transaction] = Use(attempt: attempt, at: now)
            return nil
        }
    }
}
