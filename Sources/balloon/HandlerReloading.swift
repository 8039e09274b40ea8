import BalloonJSON
import BalloonPOSIX
import Dispatch
import Logging
import MessageServer

/// Restarts handlers that are programs when one of their files changes.
///
/// These are the files that the command names, and the sources beside and below them: files with the same extension.
/// Other files may be the program's data, and a restart at each write would never end.
final class HandlerReloading {
    /// How many folders of one program are watched; a folder that is made later is not.
    static let maximumFolders = 100
    /// Folders of installed packages and of what interpreters write.
    private static let skippedFolders: Set = ["node_modules", "__pycache__", "venv"]
    private static let scriptExtensions: Set = ["js", "mjs", "cjs", "ts", "mts", "cts"]

    private var watches: [DirectoryWatch] = []

    /// Watches the programs of the businesses until it is destroyed.
    init(of businesses: [BusinessConfiguration], data: String, logger: Logger) {
        let queue = DispatchQueue(label: "balloon.reload")
        for business in businesses {
            for file in Self.files(of: business) {
                let name = String(file.split(separator: "/").last ?? "")
                let extensions = Self.extensions(of: name)
                let folders =
                    extensions.isEmpty
                    ? [Directory.parent(of: file)] : Self.folders(below: Directory.parent(of: file))
                if folders.count == Self.maximumFolders {
                    logger.notice(
                        "handler has many folders; only the first are watched",
                        metadata: ["file": "\(file)", "folders": "\(folders.count)"])
                }
                do throws(SystemError) {
                    watches.append(
                        try DirectoryWatch(
                            folders, queue: queue,
                            wanted: { $0 == name || Self.hasExtension($0, of: extensions) },
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

    /// The extensions of a program's sources; none for a program without an extension, which is one file.
    static func extensions(of name: String) -> Set<String> {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return [] }
        let own = String(name[name.index(after: dot)...])
        return scriptExtensions.contains(own) ? scriptExtensions : [own]
    }

    private static func hasExtension(_ name: String, of extensions: Set<String>) -> Bool {
        !name.hasPrefix(".") && !Self.extensions(of: name).isDisjoint(with: extensions)
    }

    /// A folder and those below it, the nearest first, without hidden ones and those of packages.
    static func folders(below top: String) -> [String] {
        var folders = [top]
        var next = 0
        while next < folders.count, folders.count < maximumFolders {
            let folder = folders[next]
            next += 1
            // A folder that cannot be listed has no watched folders below it.
            let names = (try? Directory.names(in: folder)) ?? []
            let inner = names.filter { !$0.hasPrefix(".") && !skippedFolders.contains($0) }.sorted()
                .map { folder + "/" + $0 }
            folders += inner.filter(Directory.isDirectory).prefix(maximumFolders - folders.count)
        }
        return folders
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
