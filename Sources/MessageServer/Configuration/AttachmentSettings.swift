import BusinessMessages

/// The settings for files that customers or handlers send.
///
/// ```json
/// { "maximumBytes": 104857600, "deadlineSeconds": 120, "retentionDays": 365, "concurrency": 8 }
/// ```
package struct AttachmentSettings: Sendable, Equatable {
    /// The size limit of one file in either direction; Apple accepts 100 MB, and 0 disables downloads.
    package var maximumBytes = Attachment.maximumBytes
    /// The time limit for downloading all files of one message; JSON: `deadlineSeconds`.
    ///
    /// After it, the message is delivered without the missing files.
    package var deadline = Duration.seconds(120)
    /// How long a file is kept after the last message that contained it; nil, or 0 in JSON, means forever.
    ///
    /// JSON: `retentionDays`.
    package var retention: Duration? = .seconds(365 * 86_400)

    /// The maximum number of concurrent downloads for all businesses together.
    ///
    /// While several businesses wait, each gets at most a quarter.
    package var concurrency = 8

    /// Uses the default values.
    package init() {}

    /// The number of concurrent downloads guaranteed to each business when there are `businesses` of them.
    func share(among businesses: Int) -> Int { fairShare(of: concurrency, among: businesses) }

    /// Reads the settings that are present; absent ones keep their defaults.
    static func read(_ reader: inout ObjectReader) -> AttachmentSettings? {
        var settings = AttachmentSettings()
        reader.set(&settings.maximumBytes, "maximumBytes", in: 0...Attachment.maximumBytes)
        reader.set(&settings.deadline, "deadlineSeconds", in: 1...600)
        reader.set(&settings.retention, "retentionDays", upTo: 36_500, of: .seconds(86_400))
        reader.set(&settings.concurrency, "concurrency", in: 1...1024)
        return settings
    }
}

/// The number of slots guaranteed to each business: a quarter, at least 1, or all when there is only one business.
func fairShare(of slots: Int, among businesses: Int) -> Int { businesses <= 1 ? slots : max(1, slots / 4) }
