import BusinessMessages

/// The settings `people` of all businesses in the configuration in effect.
struct PeopleSettings: Sendable {
    let configuration: CurrentConfiguration
    private let presence: PeoplePresence

    init(_ configuration: CurrentConfiguration, _ presence: PeoplePresence) {
        (self.configuration, self.presence) = (configuration, presence)
    }

    /// The settings of a business, with the times at which its people closed by hand; nil when it has none.
    subscript(business: BusinessID) -> PeopleConfiguration? {
        guard var people = configuration.setting(\.people, of: business) ?? nil else { return nil }
        people.closings = presence.closings(of: business)
        return people
    }
}
