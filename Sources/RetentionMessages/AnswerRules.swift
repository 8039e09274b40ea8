public import BalloonJSON

/// The rules by which the server answers for an app without a handler; the first rule that matches decides.
///
/// ```json
/// {"rules": [
///   {"product": "com.example.monthly", "locale": "en-US", "share": 50,
///    "answer": {"promotionalOffer": {"message": "offer", "offer": "half-price"}}},
///   {"locale": "en", "answer": {"message": "stay"}}
/// ]}
/// ```
///
/// A rule without `product` matches every product, and a rule without `locale` every locale. The locale `en`
/// also matches `en-US`. `share` is the percentage of subscribers to whom the rule applies, 1 to 100; without
/// `share` it applies to all. A rule makes the same decision for a subscriber each time.
public struct AnswerRules: Hashable, Sendable {
    /// One rule.
    public struct Rule: Hashable, Sendable {
        /// The product; nil for all.
        public var product: ProductID?
        /// The locale or language; nil for all.
        public var locale: StoreLocale?
        /// The percentage of subscribers to whom the rule applies.
        public var share: Int
        /// The decision.
        public var answer: RetentionChoice

        /// Creates a rule.
        public init(
            product: ProductID? = nil, locale: StoreLocale? = nil, share: Int = 100, answer: RetentionChoice
        ) {
            self.product = product
            self.locale = locale
            self.share = share
            self.answer = answer
        }

        /// Whether the rule applies to this product and locale, at least for some subscribers.
        public func covers(_ product: ProductID, _ locale: StoreLocale) -> Bool {
            (self.product == nil || self.product == product) && (self.locale?.includes(locale) ?? true)
        }
    }

    /// The maximum number of rules.
    public static let maximumRules = 10_000

    /// The rules in order.
    public var rules: [Rule]

    /// Creates the rules.
    public init(_ rules: [Rule] = []) { self.rules = rules }

    /// The decision of the first rule that matches `request` and whose answer `isPossible` accepts; nil
    /// without such a rule.
    public func answer(
        to request: RetentionRequest, where isPossible: (RetentionChoice) -> Bool = { _ in true }
    ) -> RetentionChoice? {
        for (index, rule) in rules.enumerated() where rule.covers(request.productID, request.locale) {
            if rule.share < 100, Self.share(of: request, rule: index) >= rule.share { continue }
            if isPossible(rule.answer) { return rule.answer }
        }
        return nil
    }

    /// The number of a subscription for a rule, from 0 to 99; the rule applies when the number is below its
    /// `share`.
    ///
    /// The number depends only on the subscription and the rule's position. It is the hash FNV-1a of 64 bits
    /// with the finalizer of SplitMix64, because Swift's own hash differs between runs.
    private static func share(of request: RetentionRequest, rule: Int) -> Int {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in Array("\(rule):".utf8) + Array(request.originalTransactionID.utf8) {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3
        }
        hash = (hash ^ (hash >> 30)) &* 0xBF58_476D_1CE4_E5B9
        hash = (hash ^ (hash >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((hash ^ (hash >> 31)) % 100)
    }

    /// Reads a file of rules; returns nil and all problems when the file has a problem.
    public static func read(_ value: JSONValue) -> (rules: AnswerRules?, problems: [RetentionProblem]) {
        var reader = RetentionReader()
        var rules: [Rule] = []
        if reader.isObject(value, required: ["rules"]), let list = value["rules"] {
            if list.kind == .array, list.count <= maximumRules {
                rules = list.elements.compactMap { rule($0, &reader) }
            } else {
                reader.report(
                    .form, at: list, found: "no such list", allowed: "a list of at most 10000 rules")
            }
        }
        return (reader.problems.isEmpty ? AnswerRules(rules) : nil, reader.problems)
    }

    private static func rule(_ value: JSONValue, _ reader: inout RetentionReader) -> Rule? {
        guard reader.isObject(value, required: ["answer"], optional: ["product", "locale", "share"]),
            let answer = value["answer"]
        else { return nil }
        let product = reader.product("product", of: value)
        let locale = reader.locale("locale", of: value)
        let share = value["share"]?.int ?? 100
        if let member = value["share"], member.int == nil || !(1...100).contains(share) {
            reader.report(.form, at: member, found: "no percentage", allowed: "a whole number from 1 to 100")
        }
        return RetentionChoice.read(answer, &reader).map {
            Rule(product: product, locale: locale, share: share, answer: $0)
        }
    }
}
