import HandlerKit

/// The folder that holds one file for each business.
enum BusinessFolder {
    private static let hint = "create a file SLUG.json for each business in it"

    /// Reads every business's file, sorted by slug; appends each problem to `problems`.
    static func read(
        _ folder: String, handlers: [any HandlerFactory]?, secrets: BusinessSecrets? = nil,
        noting problems: inout [ConfigurationProblem]
    ) -> [BusinessConfiguration] {
        var businesses: [BusinessConfiguration] = []
        var slugs: [BusinessID: String] = [:]
        let names = ConfigurationFile.names(in: folder, hint: hint, noting: &problems)
        if names?.isEmpty == true {
            problems.add(at: .file(folder), "contains no business file", hint: hint)
        }
        for name in names ?? [] {
            let path = folder + "/" + name
            let slug = Setting(text: String(name.dropLast(".json".count)), place: .file(path))
                .parsed(SettingFormat.slug, noting: &problems)
            guard let document = ConfigurationFile.document(path, noting: &problems),
                let (business, place) = BusinessFile.read(
                    document.root, file: path, slug: slug ?? "", handlers: handlers, secrets: secrets,
                    noting: &problems)
            else { continue }
            if let other = slugs.updateValue(name, forKey: business.businessID) {
                let reason = "is also the identifier in \(other)"
                problems.add(at: place, reason, hint: "use a different identifier for each business")
            }
            businesses.append(business)
        }
        return businesses
    }
}
