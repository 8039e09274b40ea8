package import MessageStore

/// What the store keeps in memory, and for how long it knows a message again.
///
/// ```json
/// { "deduplicationHours": 72, "maximumRememberedMessages": 4000000, "maximumPendingDeliveries": 1000000 }
/// ```
package struct StoreSettings: Sendable, Equatable {
    /// How long a message is remembered at least, so that a repetition of it is known; JSON: `deduplicationHours`.
    package var deduplicationWindow: Duration
    /// How many messages are remembered at most; beyond that the window is shorter.
    package var maximumRememberedMessages: Int
    /// How many messages may wait to be finished; over it 503.
    package var maximumPendingDeliveries: Int

    /// The defaults, which are the store's own.
    package init() {
        let defaults = StoreConfiguration(directory: "")
        deduplicationWindow = defaults.deduplicationWindow
        maximumRememberedMessages = defaults.maximumRememberedMessages
        maximumPendingDeliveries = defaults.maximumPendingDeliveries
    }

    static let keys = ["deduplicationHours", "maximumRememberedMessages", "maximumPendingDeliveries"]

    /// Reads what is given over the defaults.
    static func read(_ reader: inout ObjectReader) -> StoreSettings? {
        var settings = StoreSettings()
        if let hours = reader.integer("deduplicationHours", in: 1...8760) {
            settings.deduplicationWindow = .seconds(hours * 3600)
        }
        reader.set(&settings.maximumRememberedMessages, "maximumRememberedMessages", in: 1000...1_000_000_000)
        reader.set(&settings.maximumPendingDeliveries, "maximumPendingDeliveries", in: 1...1_000_000_000)
        return settings
    }

    /// The store's configuration with these settings, for a data directory.
    package func configuration(directory: String) -> StoreConfiguration {
        var configuration = StoreConfiguration(directory: directory)
        configuration.deduplicationWindow = deduplicationWindow
        configuration.maximumRememberedMessages = maximumRememberedMessages
        configuration.maximumPendingDeliveries = maximumPendingDeliveries
        return configuration
    }
}
