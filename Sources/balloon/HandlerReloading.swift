import BalloonJSON
import BalloonPOSIX
import Dispatch
import Logging
import MessageServer

/// Restarts handlers that are programs when one of their files changes.
final class HandlerReloading {
    private var watches: [DirectoryWatch] = []

    /// Watches the files that the commands of the businesses name, until it is destroyed.
    init(of businesses: [BusinessConfiguration], data: String, logger: Logger) {
        let queue = DispatchQueue(label: "balloon.reload")
        for business in businesses {
            for file in Self.files(of: business) {
                let name = String(file.split(separator: "/").last ?? "")
                do throws(SystemError) {
                    watches.append(
                        try DirectoryWatch(
                            [Directory.parent(of: file)], queue: queue, wanted: { $0 == name },
                            changed: { Self.restart(business.slug, file, data, logger) }))
                } catch {
                    logger.warning(
                        "handler file cannot be watched; run balloon handlers restart after a change",
                        metadata: ["file": "\(file)", "error": "\(error)"])
                }
            }
        }
    }

    /// The words of a program's command that are files: the program, or the script after its interpreter.
    static func files(of business: BusinessConfiguration) -> [String] {
        guard case .bound("exec", let binding) = business.handler else { return [] }
        let words = binding["exec"]?.elements.compactMap(\.string) ?? []
        return words.map { $0.hasPrefix("/") ? $0 : business.directory + "/" + $0 }
            .filter { Directory.exists($0) && !Directory.isDirectory($0) }
    }

    private static func restart(_ slug: String, _ file: String, _ data: String, _ logger: Logger) {
        // Between the steps in which an editor replaces a file.
        guard Directory.exists(file) else { return }
        logger.notice(
            "handler file changed; restarting", metadata: ["business": "\(slug)", "file": "\(file)"])
        Task {
            do {
                let question = JSONWriter.object { $0.field("business", slug) }
                _ = try await ControlSocket(data: data).ask("POST", "/handlers/restart", question)
            } catch {
                logger.warning(
                    "handler was not restarted", metadata: ["business": "\(slug)", "error": "\(error)"])
            }
        }
    }
}
