import BalloonPOSIX
package import BusinessMessages
import Dispatch
import Synchronization

/// The states that handlers keep for conversations: one small JSON file for each conversation with a state.
///
/// `{"format":1,"decision":57,"state":{…}}`. `decision` is the journal record that decided the state; an
/// earlier decision never replaces a later one. The files are derived from the journal and replaced
/// atomically. A stored state is on disk when the call that stores it returns.
final class HandlerStates: Sendable {
    private let directory: String
    private let queue = DispatchQueue(label: "balloon.states")
    /// Whether any state may exist; most handlers store none, and reading then skips the disk.
    private let hasAny: Atomic<Bool>

    init(directory: String) {
        self.directory = directory
        hasAny = Atomic(Directory.exists(directory))
    }

    /// Returns the state of a conversation, one JSON object; nil when the conversation has none.
    func state(of key: ConversationKey) async throws -> [UInt8]? {
        guard hasAny.load(ordering: .acquiring) else { return nil }
        return try await queue.run { () throws(StoreError) in
            guard let state = try self.read(key)?["state"], !state.isNull else { return nil }
            return Array(state.text)
        }
    }

    /// Stores `state`, unless this or a later decision was stored already; `null` means no state.
    func keep(_ state: [UInt8], decidedBy decision: UInt64, of key: ConversationKey) async throws {
        try await queue.run { () throws(StoreError) in
            if let kept = try self.read(key)?["decision"]?.int, UInt64(clamping: kept) >= decision { return }
            try self.write(state, decision, key)
        }
    }

    /// Removes the state of a conversation without lines, unless its decision is `record` or a later one.
    ///
    /// The journal still has such a decision.
    func remove(_ name: ConversationName, before record: UInt64) async throws {
        guard hasAny.load(ordering: .acquiring) else { return }
        let path = directory + "/" + name.path.dropLast()
        try await queue.run { () throws(StoreError) in
            do throws(SystemError) {
                guard try Directory.holds(path) else { return }
                let root = try? JSONDocument(try File(path, for: .reading).readAll()).root
                guard root?["decision"]?.int.map({ UInt64(clamping: $0) < record }) ?? false else { return }
                try Directory.remove(path)
            } catch {
                throw .unavailable(path: path, error)
            }
        }
    }

    /// Runs `change` on the queue of the states, so that no state is read or written at the same time.
    func excluding(_ change: @escaping @Sendable () throws(StoreError) -> Void) async throws {
        try await queue.run(change)
    }

    private func read(_ key: ConversationKey) throws(StoreError) -> JSONValue? {
        let path = directory + "/" + ConversationPath.state(key)
        let bytes: [UInt8]
        do throws(SystemError) {
            guard try Directory.holds(path) else { return nil }
            bytes = try File(path, for: .reading).readAll()
        } catch {
            throw .unavailable(path: path, error)
        }
        // An unreadable state must not be treated as absent: the handler would restart with a customer in the
        // middle of an order.
        guard let root = try? JSONDocument(bytes).root, root["format"]?.int == 1 else {
            throw .damaged(file: path, line: 1)
        }
        return root
    }

    private func write(_ state: [UInt8], _ decision: UInt64, _ key: ConversationKey) throws(StoreError) {
        let path = directory + "/" + ConversationPath.state(key)
        var writer = JSONWriter(reservingCapacity: state.count + 64)
        writer.object { writer in
            writer.field("format", 1)
            writer.field("decision", Int(decision))
            writer.key("state")
            writer.raw(oneLine(state))
        }
        do throws(SystemError) {
            try Directory.make(Directory.parent(of: path))
            hasAny.store(true, ordering: .releasing)
            try AtomicFile.write(writer.finish() + [UInt8(ascii: "\n")], to: path)
        } catch {
            throw .unavailable(path: path, error)
        }
    }
}

extension Store {
    /// Returns the handler's state of a conversation, one JSON object; nil when the conversation has none.
    package func state(of business: BusinessID, _ customer: CustomerID) async throws -> [UInt8]? {
        try await states.state(of: ConversationKey(business: business, customer: customer))
    }

    /// Stores the state that a decision contains, if any; an earlier process may have made the decision.
    func remember(
        _ state: [UInt8]?, decidedBy decision: UInt64, in conversation: ConversationKey
    ) async throws {
        guard let state else { return }
        try await states.keep(state, decidedBy: decision, of: conversation)
    }
}
