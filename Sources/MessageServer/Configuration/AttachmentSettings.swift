import BusinessMessages

/// The settings for files in both directions.
///
/// ```json
/// { "maximumBytes": 104857600, "deadlineSeconds": 120, "retentionDays": 365, "concurrency": 8 }
/// ```
package struct AttachmentSettings: Sendable, Equatable {
    /// The size limit of one file in either direction; Apple accepts 100 MB, and 0 disables downloads.
    package var maximumBytes = Attachment.maximumBytes
    /// The time limit for all files of one message, after which it is delivered without the missing ones;
    /// JSON: `deadlineSeconds`.
    package var deadline = Duration.seconds(120)
    /// How long a file is kept after the last message that brought it; nil, or 0 in JSON, means forever.
    ///
    /// JSON: `retentionDays`.
    package var retention: Duration? = .seconds(365 * 86_400)

    /// The limit of concurrent downloads of all businesses; while several businesses wait, each gets at most
    /// a quarter.
    package var concurrency = 8

    /// Uses the default values.
    package init() {}

    /// The number of concurrent downloads that each of this many businesses may always have.
    func share(among businesses: Int) -> Int { fairShare(of: concurrency, among: businesses) }

    static let keys = ["maximumBytes", "deadlineSeconds", "retentionDays", "concurrency"]

    /// Reads the given settings; the others keep their defaults.
    static func read(_ reader: inout ObjectReader) -> AttachmentSettings? {
        var settings = AttachmentSettings()
        if let bytes = reader.integer("maximumBytes", in: 0...Attachment.maximumBytes) {
            settings.maximumBytes = bytes
        }
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

/// The slots that one business may always use: a quarter, or all when it is the only one.
func fairShare(of slots: Int, among businesses: Int) -> Int { businesses <= 1 ? slots : max(1, slots / 4) }
