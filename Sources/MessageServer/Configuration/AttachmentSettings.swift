/// What is done with the files that customers send, and with those that go to them.
///
/// ```json
/// { "maximumBytes": 104857600, "deadlineSeconds": 120, "retentionDays": 365, "concurrency": 8 }
/// ```
package struct AttachmentSettings: Sendable, Equatable {
    /// Bytes of one file in either direction; Apple takes 100 MB, and 0 fetches none.
    package var maximumBytes = 100 << 20
    /// How long all files of one message may take, until it is delivered without those that are missing; JSON:
    /// `deadlineSeconds`.
    package var deadline = Duration.seconds(120)
    /// How long a file is kept after a message last brought it; nil, and 0 in JSON, for ever.
    ///
    /// JSON: `retentionDays`.
    package var retention: Duration? = .seconds(365 * 86_400)

    /// How many files are fetched at once, of all businesses together; while several want one, each has at most a quarter.
    package var concurrency = 8

    /// The defaults.
    package init() {}

    /// How many of the files that are fetched at once each of so many businesses may have in any case.
    func share(among businesses: Int) -> Int { fairShare(of: concurrency, among: businesses) }

    static let keys = ["maximumBytes", "deadlineSeconds", "retentionDays", "concurrency"]

    /// Reads what is given over the defaults.
    static func read(_ reader: inout ObjectReader) -> AttachmentSettings? {
        var settings = AttachmentSettings()
        if let bytes = reader.integer("maximumBytes", in: 0...100 << 20) { settings.maximumBytes = bytes }
        if let seconds = reader.integer("deadlineSeconds", in: 1...600) {
            settings.deadline = .seconds(seconds)
        }
        if let days = reader.integer("retentionDays", in: 0...36_500) {
            settings.retention = days == 0 ? nil : .seconds(days * 86_400)
        }
        reader.set(&settings.concurrency, "concurrency", in: 1...1024)
        return settings
    }
}

/// The slots that one business may have whatever the others do: a quarter, or all when there is no other.
func fairShare(of slots: Int, among businesses: Int) -> Int { businesses <= 1 ? slots : max(1, slots / 4) }
