import BusinessMessages

/// One optional section of the businesses' files, of the businesses in the configuration in effect that have it.
struct BusinessSections<Section: Sendable>: Sendable {
    /// A business that has the section.
    struct Business: Sendable {
        let id: BusinessID
        let slug: String
        let name: String
        let section: Section
    }

    let configuration: CurrentConfiguration
    private let section: any KeyPath<BusinessConfiguration, Section?> & Sendable

    init(
        _ configuration: CurrentConfiguration,
        _ section: any KeyPath<BusinessConfiguration, Section?> & Sendable
    ) {
        self.configuration = configuration
        self.section = section
    }

    /// The settings of a business; nil when it has no such section.
    subscript(business: BusinessID) -> Business? {
        configuration.setting(self.business(of:), of: business) ?? nil
    }

    /// The settings of the business with this slug; nil when it has no such section.
    func business(slug: String) -> Business? { all.first { $0.slug == slug } }

    /// All businesses that have the section.
    var all: [Business] { configuration.businesses.compactMap(business(of:)) }

    private func business(of configuration: BusinessConfiguration) -> Business? {
        configuration[keyPath: section].map {
            Business(
                id: configuration.businessID, slug: configuration.slug, name: configuration.name, section: $0)
        }
    }
}
