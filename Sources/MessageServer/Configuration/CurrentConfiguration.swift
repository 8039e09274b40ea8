import BalloonWire
import BusinessMessages
import Synchronization

/// The configuration in effect: a reload replaces it in one step, and every part of the server reads it at the
/// time of use.
///
/// ```swift
/// let deadline = ContinuousClock.now + configuration.attachments.deadline
/// ```
///
/// So a reload needs no list of the parts that use a setting. Only a part that derives something costly from
/// the settings, such as a signature key, keeps it, and compares `changeCount`.
@dynamicMemberLookup
package final class CurrentConfiguration: Sendable {
    private struct State {
        var configuration: ServerConfiguration
        var businesses: [BusinessID: BusinessConfiguration]
        /// The address of the listener, for a configuration without `publicURL`.
        var listenerURL: String?
    }

    /// The configuration of the start, whose fixed settings stay in effect.
    let initial: ServerConfiguration
    private let state: Mutex<State>
    private let changes = Atomic(0)

    /// Begins with the configuration of the start.
    package init(_ configuration: ServerConfiguration) {
        initial = configuration
        state = Mutex(
            State(
                configuration: configuration, businesses: Self.directory(configuration.businesses)))
    }

    /// Uses these businesses alone, for parts that need no other setting.
    convenience init(_ businesses: [BusinessConfiguration] = [], publicURL: String? = nil) {
        var configuration = ServerConfiguration(
            mspID: "", secret: .random(byteCount: 32), businesses: businesses)
        configuration.publicURL = publicURL
        self.init(configuration)
    }

    /// A setting of the configuration in effect.
    package subscript<Value: Sendable>(dynamicMember path: KeyPath<ServerConfiguration, Value>) -> Value {
        state.withLock { $0.configuration[keyPath: path] }
    }

    /// The configuration in effect as a whole.
    package var value: ServerConfiguration { state.withLock { $0.configuration } }

    /// The number of replacements so far; a part that keeps a derived value compares it without a lock.
    var changeCount: Int { changes.load(ordering: .acquiring) }

    /// Returns a setting of a business; nil when the business is not configured.
    func setting<Value: Sendable>(
        _ path: KeyPath<BusinessConfiguration, Value>, of business: BusinessID
    ) -> Value? {
        state.withLock { $0.businesses[business]?[keyPath: path] }
    }

    /// The configuration of a business; nil when it is not configured.
    subscript(business: BusinessID) -> BusinessConfiguration? { state.withLock { $0.businesses[business] } }

    /// This server's public URL, else the address of its listener, as for a development server; nil before the
    /// listener is bound.
    var publicURL: String? { state.withLock { $0.configuration.publicURL ?? $0.listenerURL } }

    /// Sets the address of the listener.
    func use(listener url: String) { state.withLock { $0.listenerURL = url } }

    /// Replaces the configuration, except each `FixedSetting`.
    package func replace(with new: ServerConfiguration) {
        state.withLock { state in
            state.configuration = initial.applying(new)
            state.businesses = Self.directory(new.businesses)
        }
        changes.add(1, ordering: .releasing)
    }

    private static func directory(
        _ businesses: [BusinessConfiguration]
    ) -> [BusinessID: BusinessConfiguration] {
        Dictionary(businesses.map { ($0.businessID, $0) }) { first, _ in first }
    }
}
