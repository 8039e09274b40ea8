import BalloonPOSIX

/// A model of a disk and the page cache after the recorded calls: the caller decides which unsynced writes
/// survive a power failure.
///
/// Unsynced data may or may not be on disk, independently for each block of 512 bytes and in any order; a
/// missing block in the middle of a file reads as zeros. Names and removals are certain only after a sync of
/// their directory. A later sync never repairs a failed one.
///
/// Not covered: blocks that are half written or contain other data than old, new or zeros; disks that report
/// false syncs; attributes; renames, and therefore the start of a store (which replaces files atomically) and
/// a power failure during a recovery; and data that is written without `StoreDisk` (`VERSION`, `lock`,
/// `calls`, `states`, rewritten conversations).
struct PowerLoss {
    private enum Pending {
        case write(at: Int, [UInt8])
        case cut(Int)
    }

    private struct Content {
        var durable: [UInt8] = []
        var pending: [Pending] = []
        /// The unsynced writes from before a failed sync; their state stays undefined forever.
        var doubtful: [Pending] = []
        var size = 0
        var hasName = false
        var isRemoved = false
    }

    private var files: [String: Content] = [:]
    private var folders: [String: Bool] = [:]
    private static let blockBytes = 512

    mutating func apply(_ call: RecordingDisk.Call) {
        switch call {
        case .name(let path): files[path] = Content()
        case .folder(let path): folders[path] = false
        case .write(let path, let bytes, let offset):
            files[path]?.pending.append(.write(at: offset, bytes))
            let size = files[path]?.size ?? 0
            files[path]?.size = max(size, offset + bytes.count)
        case .append(let path, let bytes):
            let size = files[path]?.size ?? 0
            files[path]?.pending.append(.write(at: size, bytes))
            files[path]?.size += bytes.count
        case .cut(let path, let size):
            files[path]?.pending.append(.cut(size))
            files[path]?.size = size
        case .sync(let path): sync(path)
        case .failedSync(let path):
            let pending = files[path]?.pending ?? []
            files[path]?.doubtful += pending
            files[path]?.pending = []
        case .remove(let path): files[path]?.isRemoved = true
        case .syncNames(let folder): syncNames { Directory.parent(of: $0) == folder }
        case .syncAll:
            for path in files.keys { sync(path) }
            syncNames { _ in true }
        case .promise: break
        }
    }

    private mutating func sync(_ path: String) {
        guard var content = files[path] else { return }
        for pending in content.pending { Self.put(pending, into: &content.durable) { true } }
        content.pending = []
        files[path] = content
    }

    private mutating func syncNames(where isConcerned: (String) -> Bool) {
        for path in files.keys where isConcerned(path) {
            if files[path]?.isRemoved ?? false { files[path] = nil } else { files[path]?.hasName = true }
        }
        for path in folders.keys where isConcerned(path) { folders[path] = true }
    }

    /// The content of the disk after a power failure; `isLucky` decides for each unsynced item whether it
    /// survives.
    func image(_ isLucky: () -> Bool) -> [String: [UInt8]] {
        var lost: [String] = []
        for (path, isDurable) in folders.sorted(by: { $0.key < $1.key }) where !isDurable && !isLucky() {
            lost.append(path + "/")
        }
        var image: [String: [UInt8]] = [:]
        for (path, content) in files.sorted(by: { $0.key < $1.key }) {
            if lost.contains(where: { path.hasPrefix($0) }) { continue }
            if !content.hasName, !isLucky() { continue }
            if content.isRemoved, isLucky() { continue }
            var bytes = content.durable
            for pending in content.doubtful + content.pending { Self.put(pending, into: &bytes, isLucky) }
            image[path] = bytes
        }
        return image
    }

    private static func put(_ pending: Pending, into bytes: inout [UInt8], _ isLucky: () -> Bool) {
        switch pending {
        case .cut(let size): if isLucky(), size < bytes.count { bytes.removeLast(bytes.count - size) }
        case .write(let offset, let data):
            var start = 0
            while start < data.count {
                let end = min(data.count, start + blockBytes - (offset + start) % blockBytes)
                if isLucky() {
                    let missing = offset + end - bytes.count
                    if missing > 0 { bytes.append(contentsOf: repeatElement(0, count: missing)) }
                    bytes.replaceSubrange(offset + start..<offset + end, with: data[start..<end])
                }
                start = end
            }
        }
    }
}
