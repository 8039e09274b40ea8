import BalloonPOSIX
import BusinessMessages

/// The recorded attempts of a data directory, for a command that only reads; a server may run meanwhile.
package struct PaymentRecordList: Sendable {
    /// The latest line of an attempt.
    package struct Entry: Hashable, Sendable {
        /// The business's slug.
        package let slug: String
        /// The time of the latest change, as `2026-11-21T10:00:00.123Z`.
        package let at: String
        /// The beginning of the request's identifier, which is a secret.
        package let request: String
        /// The key of the attempt at the payment provider.
        package let attempt: String
        /// The state of the attempt.
        package let state: String
        /// The amount as a decimal text.
        package let amount: String
        /// The currency, three letters.
        package let currency: String
        /// The payment provider's name of the charge; nil when there is none.
        package let reference: String?
        /// The SHA-256 of the customer's identifier, in hexadecimal.
        package let customer: String
    }

    private let directory: String

    /// Reads the records of this data directory.
    package init(dataDirectory: String) { directory = dataDirectory + "/payments" }

    /// Returns the attempts of a business, or of all businesses when `slug` is nil, in the order in which
    /// they began.
    ///
    /// `unreadable` is the number of damaged lines. Throws when a folder or a file cannot be read.
    package func attempts(of slug: String? = nil) throws -> (attempts: [Entry], unreadable: Int) {
        guard try Directory.holds(directory) else { return ([], 0) }
        var found: [Entry] = []
        var unreadable = 0
        for folder in try Directory.names(in: directory)
        where Directory.isDirectory(directory + "/" + folder) && (slug == nil || slug == folder) {
            var places: [String: Int] = [:]
            // The names contain the dates, so the sorted names are in the order of time.
            for name in try Directory.names(in: directory + "/" + folder).sorted()
            where name.hasSuffix(".jsonl") {
                let bytes = try File("\(directory)/\(folder)/\(name)", for: .reading).readAll()
                for line in bytes.split(separator: UInt8(ascii: "\n")) {
                    guard let entry = Entry(Array(line), slug: folder) else {
                        unreadable += 1
                        continue
                    }
                    if let place = places[entry.attempt] {
                        found[place] = entry
                    } else {
                        places[entry.attempt] = found.count
                        found.append(entry)
                    }
                }
            }
        }
        return (found, unreadable)
    }
}

extension PaymentRecordList.Entry {
    fileprivate init?(_ line: [UInt8], slug: String) {
        // The caller counts damaged lines.
        guard let root = (try? JSONDocument(line))?.root, let at = root["at"]?.string,
            let request = root["request"]?.string, let attempt = root["attempt"]?.string,
            let state = root["state"]?.string, let amount = root["amount"]?.string,
            let currency = root["currency"]?.string, let customer = root["customer"]?.string
        else { return nil }
        self.init(
            // An earlier version wrote the whole identifier.
            slug: slug, at: at, request: request.cut(toBytes: InboundEvent.shownIdentifierLength),
            attempt: attempt, state: state, amount: amount,
            currency: currency, reference: root["reference"]?.string, customer: customer)
    }
}
