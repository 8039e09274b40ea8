import BusinessMessages
import Payments
import Synchronization

/// The expiry times of the businesses' merchant certificates, read at the start and at each reload.
///
/// A scrape reads no certificate file: reading a thousand takes longer than all other work of the scrape.
final class MerchantCertificates: Sendable {
    private let expiries = Mutex<[BusinessID: Int]>([:])

    /// Reads the certificates of these businesses; an unusable one is left out.
    func change(to businesses: [BusinessConfiguration]) {
        var new: [BusinessID: Int] = [:]
        for business in businesses { new[business.businessID] = business.merchantCertificateExpiry }
        expiries.withLock { $0 = new }
    }

    /// The earliest expiry of each label, in seconds since 1970, sorted by label.
    func expiries(by labels: BusinessLabels) -> [(label: String, seconds: Int)] {
        let expiries = expiries.withLock { $0 }
        let all = expiries.map { (labels[$0.key], $0.value) }
        return Dictionary(all, uniquingKeysWith: min).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}

extension BusinessConfiguration {
    /// The expiry of the merchant certificate of `applePay`, in seconds since 1970.
    ///
    /// Nil when the business has no merchant certificate, and when the certificate's files are unusable.
    var merchantCertificateExpiry: Int? {
        applePay.flatMap {
            TLSFiles(certificateFile: $0.merchant.certificateFile, keyFile: $0.merchant.keyFile)
                .expirySecondsSince1970
        }
    }
}
