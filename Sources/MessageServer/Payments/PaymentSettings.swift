import Payments

/// The settings `applePay` of all businesses in the configuration in effect.
typealias PaymentSettings = BusinessSections<ApplePayConfiguration>

extension BusinessSections<ApplePayConfiguration> {
    init(_ configuration: CurrentConfiguration) { self.init(configuration, \.applePay) }

    /// Whether the server decrypts the payment tokens of any business.
    var decryptsTokens: Bool { configuration.businesses.contains { $0.applePay?.decryption != nil } }

    /// Returns the base URL of the endpoints with this key; nil when the server's own address is not known.
    func base(of key: String) -> String? { configuration.publicURL.map { "\($0)/pay/\(key)" } }

    /// Returns the file with which Apple verifies a domain; `host` is the value of the field `Host`, with or
    /// without a port.
    ///
    /// A proxy may replace `Host`, so the only domain with a file gets it under every name that is not another domain of
    /// a business.
    func domainAssociation(host: String) -> [UInt8]? {
        let name = host.prefix { $0 != ":" }.lowercased()
        let merchants = configuration.businesses.compactMap(\.applePay)
        let files = Dictionary(
            merchants.compactMap { merchant in
                merchant.domainAssociation.map { (merchant.merchant.domainName, $0) }
            }
        ) { first, _ in first }
        if let file = files[name] { return file }
        let isOther = merchants.contains { $0.merchant.domainName == name }
        return files.count == 1 && !isOther ? files.first?.value : nil
    }

    /// Whether any business has a file with which Apple verifies its domain.
    var hasDomainAssociation: Bool {
        configuration.businesses.contains { $0.applePay?.domainAssociation != nil }
    }
}
