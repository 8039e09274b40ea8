import BalloonPOSIX
import BalloonWire
import BusinessMessages
import MessageStore
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
    /// One configuration and what is computed of it, which never changes.
    private final class State: Sendable {
        let configuration: ServerConfiguration
        let businesses: [BusinessID: Business]
        /// The address of the listener, for a configuration without `publicURL`.
        let listenerURL: String?

        init(_ configuration: ServerConfiguration, listenerURL: String?) {
            self.configuration = configuration
            businesses = Dictionary(
                configuration.businesses.map { ($0.businessID, Business($0)) }
            ) { first, _ in first }
            self.listenerURL = listenerURL
        }
    }

    /// A business's configuration on the heap, so that reading one setting copies no other.
    private final class Business: Sendable {
        let configuration: BusinessConfiguration

        init(_ configuration: BusinessConfiguration) { self.configuration = configuration }
    }

    /// The configuration of the start, whose fixed settings stay in effect.
    let initial: ServerConfiguration
    private let state: AtomicReference<State>
    private let changes = Atomic(0)

    /// Begins with the configuration of the start.
    package init(_ configuration: ServerConfiguration) {
        initial = configuration
        state = AtomicReference(State(configuration, listenerURL: nil))
    }

    private var current: State { state.value }

    /// A setting of the configuration in effect.
    package subscript<Value: Sendable>(dynamicMember path: KeyPath<ServerConfiguration, Value>) -> Value {
        current.configuration[keyPath: path]
    }

    /// The configuration in effect as a whole.
    package var value: ServerConfiguration { current.configuration }

    /// The number of replacements so far; a part that keeps a derived value compares it without a lock.
    var changeCount: Int { changes.load(ordering: .acquiring) }

    /// Returns a setting of a business; nil when the business is not configured.
    func setting<Value: Sendable>(
        _ setting: (BusinessConfiguration) -> Value, of business: BusinessID
    ) -> Value? {
        current.businesses[business].map { setting($0.configuration) }
    }

    /// The configuration of a business; nil when it is not configured.
    subscript(business: BusinessID) -> BusinessConfiguration? {
        current.businesses[business]?.configuration
    }

    /// The silence of both sides after which a conversation of a business is new.
    func silence(of business: BusinessID) -> Duration {
        setting(\.silence, of: business) ?? NewConversation.silence
    }

    /// This server's public URL, else the address of its listener, as for a development server; nil before the
    /// listener is bound.
    var publicURL: String? {
        let current = current
        return current.configuration.publicURL ?? current.listenerURL
    }

    /// Sets the address of the listener.
    func use(listener url: String) { state.replace { State($0.configuration, listenerURL: url) } }

    /// Replaces the configuration, except each `FixedSetting`.
    package func replace(with new: ServerConfiguration) {
        state.replace { State(initial.applying(new), listenerURL: $0.listenerURL) }
        changes.add(1, ordering: .releasing)
    }
}
