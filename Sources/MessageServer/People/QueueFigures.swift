import BalloonPOSIX
import BusinessMessages
import MessageStore

/// The numbers of one queue at a moment, computed from the table of assignments.
struct QueueFigures: Sendable {
    let queue: QueueConfiguration
    /// The conversations that wait, and those that a person has.
    private(set) var waiting = 0
    private(set) var person = 0
    /// The conversations whose customer waits longer than the target.
    private(set) var overdue = 0
    /// When the first waiting conversation began to wait.
    private(set) var since: Timestamp?

    /// When the people of the queue answer again; nil while it is open.
    let opensAt: Timestamp?

    private init(_ queue: QueueConfiguration, opensAt: Timestamp?) {
        (self.queue, self.opensAt) = (queue, opensAt)
    }

    /// The numbers of each queue of a business, in the order of its file.
    static func all(_ people: PeopleConfiguration, _ assigned: [Assignment], at now: Timestamp)
        -> [QueueFigures]
    {
        var all = people.queues.map {
            QueueFigures($0, opensAt: people.openingTime(of: $0).opensAt(after: now))
        }
        for assignment in assigned {
            guard let queue = people.queue(of: assignment),
                let index = all.firstIndex(where: { $0.queue.id == queue.id })
            else { continue }
            if people.isOverdue(assignment, at: now) { all[index].overdue += 1 }
            if assignment.state == .person {
                all[index].person += 1
            } else {
                all[index].waiting += 1
                all[index].since = [all[index].since, assignment.since].compactMap { $0 }.min()
            }
        }
        return all
    }
}
