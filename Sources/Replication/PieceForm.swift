import BalloonWire

/// The form of a piece in the database: a byte that is 0 before plain content, and 1 before content that is sealed.
struct PieceForm: Sendable {
    /// The key of new pieces; nil for plain ones.
    let key: SealingKey?
    /// Another key, with which pieces may be sealed, while the key is changed.
    var otherKey: SealingKey?

    /// Returns the content in this form.
    func write(_ content: [UInt8]) -> [UInt8] { key.map { [1] + $0.seal(content) } ?? [0] + content }

    /// Returns the content of a piece in either form.
    func read(_ piece: [UInt8]) throws(ReplicaError) -> [UInt8] {
        switch piece.first {
        case 0: return Array(piece.dropFirst())
        case 1:
            let sealed = Array(piece.dropFirst())
            guard let content = key?.open(sealed) ?? otherKey?.open(sealed) else {
                throw .unusable("the store is sealed with another \"sealKey\" than that of the configuration")
            }
            return content
        default: throw .unusable("the store was written by a newer program")
        }
    }

    /// Returns the piece in the form of new ones; nil when it has that form.
    func renewed(_ piece: [UInt8]) throws(ReplicaError) -> [UInt8]? {
        let isNew =
            key.map { piece.first == 1 && $0.open(Array(piece.dropFirst())) != nil } ?? (piece.first == 0)
        return isNew ? nil : write(try read(piece))
    }
}
