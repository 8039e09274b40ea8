import BusinessMessages
import Synchronization

/// The current settings `people` of all businesses; a reload replaces them.
final class PeopleSettings: Sendable {
    private let settings: Mutex<[BusinessID: PeopleConfiguration]>

    init(_ businesses: [BusinessConfiguration] = []) { settings = Mutex(Self.settings(of: businesses)) }

    /// The settings of a business; nil when it has none.
    subscript(business: BusinessID) -> PeopleConfiguration? { settings.withLock { $0[business] } }

    /// Replaces all settings.
    func change(to businesses: [BusinessConfiguration]) {
        settings.withLock { $0 = Self.settings(of: businesses) }
    }

    private static func settings(of businesses: [BusinessConfiguration]) -> [BusinessID: PeopleConfiguration]
    {
        let pairs = businesses.compactMap { business in business.people.map { (business.businessID, $0) } }
        return Dictionary(pairs) { first, _ in first }
    }
}
