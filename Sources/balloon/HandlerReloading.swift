import BalloonJSON
import BalloonPOSIX
import Dispatch
import Logging
import MessageServer

/// Restarts handlers that are programs when one of their files changes.
///
/// These are the files that the handler's command names, and the sources beside and below them: files with the
/// same extension. Other files are ignored: a program that wrote its data there would restart without end.
final class HandlerReloading {
    /// The maximum number of watched folders of one program; folders that are created later are not watched.
    static let maximumFolders = 100
    /// The names of folders that are not watched: they hold installed packages or files that interpreters generate.
    private static let skippedFolders: Set = ["node_modules", "__pycache__", "venv"]
    private static let scriptExtensions: Set = ["js", "mjs", "cjs", "ts", "mts", "cts"]

    private var watches: [DirectoryWatch] = []

    /// Starts to watch the handler programs of the businesses, until this object is destroyed.
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
                        "handler has too many folders to watch; only the first are watched",
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

    /// The existing files that the command of a handler program names: the program, or the script that an
    /// interpreter runs.
    ///
    /// Empty for other handlers.
    static func files(of business: BusinessConfiguration) -> [String] {
        guard case .bound("exec", let binding) = business.handler else { return [] }
        let words = binding["exec"]?.elements.compactMap(\.string) ?? []
        return words.map { $0.hasPrefix("/") ? $0 : business.directory + "/" + $0 }
            .filter { Directory.exists($0) && !Directory.isDirectory($0) }
    }

    /// The extensions that the sources of a program have; empty for a program without an extension.
    ///
    /// Only the program's own file is watched then.
    static func extensions(of name: String) -> Set<String> {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return [] }
        let own = String(name[name.index(after: dot)...])
        return scriptExtensions.contains(own) ? scriptExtensions : [own]
    }

    private static func hasExtension(_ name: String, of extensions: Set<String>) -> Bool {
        !name.hasPrefix(".") && !Self.extensions(of: name).isDisjoint(with: extensions)
    }

    /// A folder and the folders below it, nearest first, at most ``maximumFolders``.
    ///
    /// Hidden folders and ``skippedFolders`` are left out, with everything below them.
    static func folders(below top: String) -> [String] {
        var folders = [top]
        var next = 0
        while next < folders.count, folders.count < maximumFolders {
            let folder = folders[next]
            next += 1
            // When a folder cannot be listed, the folders below it are not watched.
            let names = (try? Directory.names(in: folder)) ?? []
            let inner = names.filter { !$0.hasPrefix(".") && !skippedFolders.contains($0) }.sorted()
                .map { folder + "/" + $0 }
            folders += inner.filter(Directory.isDirectory).prefix(maximumFolders - folders.count)
        }
        return folders
    }

    private static func restart(_ slug: String, _ file: String, _ data: String, _ logger: Logger) {
        // An editor may remove the old file first; the appearance of the new file calls this function again.
        guard Directory.exists(file) else { return }
        logger.notice(
            "handler file changed; restarting the handler",
            metadata: ["business": "\(slug)", "file": "\(file)"])
        Task {
            do {
                _ = try await ControlSocket(data: data).ask(
                    ControlOperations.restartHandler, slug, timeout: ControlSocket.restartTimeout)
            } catch {
                logger.warning(
                    "the handler could not be restarted after its file changed; the earlier process continues",
                    metadata: ["business": "\(slug)", "error": "\(error)"])
            }
        }
    }
}
