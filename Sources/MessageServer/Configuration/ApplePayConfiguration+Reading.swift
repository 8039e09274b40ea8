import BalloonPOSIX
import BalloonTLS
import BalloonWire
import Payments

extension ApplePayConfiguration {
    /// The maximum number of keys that open tokens: one for each certificate, and one for its successor
    /// during a change.
    private static let maximumTokenKeys = 8
    /// The maximum characters of a name on the payment sheet (Apple Pay, "Requesting an Apple Pay Payment Session").
    static let maximumDisplayNameCharacters = 64
    private static let maximumFileBytes = 65_536

    /// Reads `applePay`; nil after reporting a problem.
    static func read(_ reader: inout ObjectReader) -> ApplePayConfiguration? {
        reader.require(
            "merchantIdentifier", "domainName", "displayName", "certificateFile", "keyFile",
            hint: "add it, or remove \"applePay\"")
        let merchantIdentifier = reader.value("merchantIdentifier", self.merchantIdentifier)
        let domainName = reader.value("domainName", domain)
        let displayName = reader.value("displayName", self.displayName)
        let certificate = certificate(&reader)
        let sessionURL = reader.value("sessionURL", address)
        let association = reader.text("domainAssociationFile").flatMap { self.association($0, &reader) }
        let fallbackURL = reader.value("fallbackURL", address)
        let paths: Paths? = reader.choice(
            "paths", "is not a kind of paths", hint: "use constant or perRequest")
        let days = reader.integer("paymentRecordsDays", in: 1...36_500)
        let decryption = reader.object("decrypt") { self.decryption(&$0, merchantIdentifier) }
        guard let merchantIdentifier, let domainName, let displayName, let certificate else { return nil }
        var merchant = MerchantIdentity(
            merchantIdentifier: merchantIdentifier, domainName: domainName, displayName: displayName,
            certificateFile: certificate.certificateFile, keyFile: certificate.keyFile)
        merchant.sessionURL = sessionURL ?? merchant.sessionURL
        var result = ApplePayConfiguration(merchant: merchant)
        result.domainAssociation = association
        result.fallbackURL = fallbackURL
        result.paths = paths ?? result.paths
        result.recordsDays = days ?? result.recordsDays
        result.decryption = decryption
        return result
    }

    private static func merchantIdentifier(_ text: String) throws(InvalidSetting) -> String {
        try checked(
            text,
            text.hasPrefix("merchant.") && (10...255).contains(text.utf8.count)
                && text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            "is not a merchant identifier", hint: "write it like merchant.com.example.shop")
    }

    private static func domain(_ text: String) throws(InvalidSetting) -> String {
        let refusal = InvalidSetting(
            "is not a domain name", hint: "write the verified domain without https:// and without a path")
        guard text.utf8.count <= 253, let host = try? SettingFormat.downloadHost(text),
            SocketAddress(text) == nil
        else { throw refusal }
        return host
    }

    private static func displayName(_ text: String) throws(InvalidSetting) -> String {
        try checked(
            text,
            (1...maximumDisplayNameCharacters).contains(text.count) && text.utf8.count <= 256
                && text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }),
            "is empty or longer than \(maximumDisplayNameCharacters) characters",
            hint: "write the name of the business")
    }

    private static func address(_ text: String) throws(InvalidSetting) -> String {
        guard let address = WebAddress(text), address.isSecure else {
            throw InvalidSetting(
                "is not an https address", hint: "write https://HOST/PATH without user, query and fragment")
        }
        return text
    }

    /// The merchant identity certificate; nil after reporting that its files do not exist or do not match.
    private static func certificate(_ reader: inout ObjectReader) -> TLSFiles? {
        guard let certificate = reader.text("certificateFile"), let key = reader.text("keyFile") else {
            return nil
        }
        let folder = reader.directory + "/"
        return reader.noting {
            TLSReference(certificate: certificate, key: key).resolved(folder: folder, noting: &$0)
        }
    }

    /// Reads the keys that open tokens, each with its certificate; returns nil after reporting a problem.
    private static func decryption(_ reader: inout ObjectReader, _ merchant: String?) -> Decryption? {
        let (keys, certificates) = (reader.texts("keyFiles") ?? [], reader.texts("certificateFiles") ?? [])
        let root = reader.text("rootFile")
        guard (1...maximumTokenKeys).contains(keys.count), keys.count == certificates.count else {
            reader.problem(
                "has not 1 to \(maximumTokenKeys) \"keyFiles\" with as many \"certificateFiles\"",
                hint:
                    "list each merchant key in \"keyFiles\", and its payment processing certificate at the same place in \"certificateFiles\""
            )
            return nil
        }
        guard let merchant else { return nil }
        var decryption = Decryption(keys: [])
        for (key, certificate) in zip(keys, certificates) {
            guard let pem = reader.content(of: key, maximumBytes: maximumFileBytes),
                let certificateBytes = reader.content(of: certificate, maximumBytes: maximumFileBytes)
            else { return nil }
            // Every unusable pair gets the same reason, which tells nothing about the key.
            guard let secret = try? Secret(pem),
                let opened = try? PaymentTokenKey(
                    pem: secret, certificate: certificateBytes, merchantIdentifier: merchant)
            else {
                reader.report(
                    key, "is not the key of its certificate, or the certificate names another merchant",
                    hint:
                        "use the key on P-256 in PEM without a password, and the certificate from Apple for it"
                )
                return nil
            }
            decryption.keys.append(opened)
            decryption.keyFiles.append(reader.absolute(key.text))
        }
        guard let root else { return decryption }
        guard
            let certificate = reader.rootCertificate(
                root, hint: "remove the key: Apple's root is in the program")
        else { return nil }
        decryption.root = certificate
        return decryption
    }

    private static func association(_ path: Setting, _ reader: inout ObjectReader) -> [UInt8]? {
        let bytes = reader.content(
            of: path, maximumBytes: maximumFileBytes,
            hint: "check its path and mode; it has at most \(maximumFileBytes) bytes")
        guard let bytes, bytes.isEmpty else { return bytes }
        reader.report(path, "names an empty file", hint: "download the file again from Apple")
        return nil
    }
}

extension [BusinessConfiguration] {
    /// A problem for each domain that two businesses serve with different association files.
    var problemsOfDomains: [ConfigurationProblem] {
        var files: [String: (slug: String, bytes: [UInt8])] = [:]
        var problems: [ConfigurationProblem] = []
        for business in self {
            guard let applePay = business.applePay, let bytes = applePay.domainAssociation else { continue }
            let domain = applePay.merchant.domainName
            guard let other = files[domain] else {
                files[domain] = (business.slug, bytes)
                continue
            }
            if other.bytes == bytes { continue }
            problems.add(
                at: .file("\(business.directory)/\(business.slug).json"),
                "has another \"domainAssociationFile\" for its domain than \(other.slug)",
                hint: "use the same file in both, or a domain for each")
        }
        return problems
    }

    /// A warning for each merchant certificate that has expired or expires within 30 days of `now`, seconds since 1970.
    func warningsAboutMerchantCertificates(at now: Int) -> [ConfigurationProblem] {
        compactMap { business in
            guard let merchant = business.applePay?.merchant,
                let expiry = business.merchantCertificateExpiry, expiry < now + 30 * 86_400
            else { return nil }
            let state = expiry <= now ? "has expired" : "expires in \((expiry - now) / 86_400) days"
            return ConfigurationProblem(
                at: .file(merchant.certificateFile), "is a merchant identity certificate that \(state)",
                hint: "create a new one in Apple's developer account")
        }
    }
}
