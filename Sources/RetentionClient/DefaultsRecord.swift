import BalloonJSON
import BalloonPOSIX
package import RetentionMessages

/// The record of the default messages that `balloon retention` has set, because the App Store cannot list
/// them.
///
/// `DATA/retention/SLUG/ENVIRONMENT-defaults.json`; only `balloon retention` writes it:
///
/// ```json
/// {"format": 1, "defaults": {"com.example.monthly": {"en-US": "a1b2c3d4-…"}}}
/// ```
///
/// A default message is recorded before the call that sets it, so that the record also contains a default
/// message whose call was interrupted.
package struct DefaultsRecord: Sendable, Equatable {
    /// The messages by product and locale.
    package var messages: [DefaultMessages.Key: RetentionID]

    /// Creates a record.
    package init(_ messages: [DefaultMessages.Key: RetentionID] = [:]) { self.messages = messages }

    /// The maximum bytes of a file: 10,000 entries have 800 KB.
    private static let maximumBytes = 4 << 20

    /// The path of the record, in the same folder as the file of states at `statesPath`.
    package static func path(besides statesPath: String) -> String {
        String(statesPath.dropLast(".json".count)) + "-defaults.json"
    }

    /// The recorded products and locales that have no default message in `folder`, sorted by product and
    /// locale.
    package func keys(without folder: RetentionFolder) -> [DefaultMessages.Key] {
        DefaultMessages(messages.mapValues(\.text)).keys.filter { folder.defaults.messages[$0] == nil }
    }

    /// Reads a record; a missing file counts as an empty record.
    ///
    /// Throws `RetentionFileError` when the file cannot be read or has another format.
    package static func read(_ path: String) throws(RetentionFileError) -> DefaultsRecord {
        var record = DefaultsRecord()
        guard let root = try RetentionFile.read(path, maximumBytes: maximumBytes)?.root else { return record }
        guard let products = root["defaults"], products.kind == .object else { throw .malformed(path) }
        for (product, locales) in products.members {
            for (locale, id) in locales.members {
                guard let product = ProductID(product), let locale = StoreLocale(locale),
                    let id = id.string.flatMap({ RetentionID($0) })
                else { throw .malformed(path) }
                record.messages[DefaultMessages.Key(product, locale)] = id
            }
        }
        return record
    }

    /// Replaces the file durably, and creates its folder if that is missing.
    package func write(to path: String) throws(RetentionFileError) {
        let products = Dictionary(grouping: messages, by: \.key.product)
        try RetentionFile.write(to: path) { writer in
            writer.object("defaults") { writer in
                for (product, entries) in products.sorted(by: { $0.key.text < $1.key.text }) {
                    writer.object(product.text) { writer in
                        for (key, id) in entries.sorted(by: { $0.key.locale.code < $1.key.locale.code }) {
                            writer.field(key.locale.code, id.text)
                        }
                    }
                }
            }
        }
    }
}
