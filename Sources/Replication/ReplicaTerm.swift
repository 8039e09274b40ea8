/// The terms of the owners, by which a server notices that the database lost changes: a promoted standby or a restored
/// dump may lack the last ones, and the next owner gives their numbers to other changes.
///
/// Unlike an epoch, the id of a term is random, so two owners that became so before and after the loss differ.
enum ReplicaTerm {
    /// Statement that begins the term with the id `$2` of the owner with the epoch `$1`, after the change `$3`; no row
    /// when another server is the owner.
    static let begin =
        "INSERT INTO balloon.term SELECT epoch, $2, $3 FROM balloon.owner WHERE epoch = $1 RETURNING 1::bigint"

    /// Statement that counts 1 when the database has the change `$2` of the term with the id `$1`, and 0 otherwise.
    static let check = check(term: "$1", number: "$2")

    /// As ``check``, with other parameters.
    static func check(term: String, number: String) -> String {
        """
        SELECT count(*) FROM balloon.term t WHERE id = \(term) AND \(number) <= coalesce(
            (SELECT after FROM balloon.term WHERE epoch > t.epoch ORDER BY epoch LIMIT 1),
            (SELECT max(number) FROM balloon.file), 0)
        """
    }

    /// Condition that the row of `owner` is the owner's with this epoch and term.
    ///
    /// After a takeover that the database lost, another owner may have the same epoch.
    static func isOwner(epoch: String, term: String) -> String {
        "epoch = \(epoch) AND EXISTS (SELECT FROM balloon.term WHERE id = \(term))"
    }

    /// Expression for the id of the term to which the change `number` belongs; NULL before the first term.
    static func id(of number: String) -> String {
        "(SELECT id FROM balloon.term WHERE after < \(number) ORDER BY epoch DESC LIMIT 1)"
    }

    /// Returns a new id.
    static func makeID() -> String {
        (0..<4).map { _ in String(UInt32.random(in: .min ... .max), radix: 16) }.joined()
    }
}
