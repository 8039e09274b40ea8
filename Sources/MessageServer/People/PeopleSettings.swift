import BusinessMessages

/// The settings `people` of all businesses in the configuration in effect.
struct PeopleSettings: Sendable {
    private let configuration: CurrentConfiguration

    init(_ configuration: CurrentConfiguration) { self.configuration = configuration }

    /// The settings of a business; nil when it has none.
    subscript(business: BusinessID) -> PeopleConfiguration? {
        configuration.setting(\.people, of: business) ?? nil
    }
}
