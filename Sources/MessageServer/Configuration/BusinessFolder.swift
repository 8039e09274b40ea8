import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import HandlerKit

/// The folder that holds one file for each business.
enum BusinessFolder {
    private static let hint = "put a file SLUG.json for each business there"

    /// Reads every business, sorted by slug; what is wrong with any of them is noted.
    static func read(
        _ folder: String, handlers: [any HandlerFactory]?, noting problems: inout [ConfigurationProblem]
    ) -> [BusinessConfiguration] {
        var businesses: [BusinessConfiguration] = []
        var slugs: [BusinessID: String] = [:]
        for name in files(in: folder, noting: &problems) {
            let path = folder + "/" + name
            let slug = Setting(text: String(name.dropLast(".json".count)), place: .file(path))
                .parsed(SettingFormat.slug, noting: &problems)
            guard let document = ConfigurationFile.document(path, noting: &problems),
                let (business, place) = BusinessFile.read(
                    document.root, file: path, slug: slug ?? "", handlers: handlers, noting: &problems)
            else { continue }
            if let other = slugs.updateValue(name, forKey: business.businessID) {
                let reason = "is the identifier in \(other) too"
                problems.append(ConfigurationProblem(at: place, reason, hint: "give each business its own"))
            }
            businesses.append(business)
        }
        return businesses
    }

    private static func files(in folder: String, noting problems: inout [ConfigurationProblem]) -> [String] {
        do {
            // Editors and Kubernetes leave hidden entries there.
            let files = try Directory.names(in: folder).filter { $0.hasSuffix(".json") && !$0.hasPrefix(".") }
            if files.isEmpty {
                problems.append(ConfigurationProblem(at: .file(folder), "holds no business", hint: hint))
            }
            return files
        } catch {
            problems.append(ConfigurationProblem(at: .file(folder), "cannot be read: \(error)", hint: hint))
            return []
        }
    }
}
