import BalloonPOSIX
import BusinessMessages

/// The open requests in memory, without their secrets and results: finds requests, and enforces the limits.
struct RequestTable {
    /// The maximum number of open requests of a customer with a business; one more replaces the oldest.
    static let maximumOfCustomer = 5
    /// The maximum number of open requests of a business.
    static let maximumOfBusiness = 10_000
    /// The number of open requests from which on no business may have more than its share.
    static let maximum = 100_000
    /// The maximum number of ended requests of a business; one more removes the oldest.
    static let maximumEndedOfBusiness = 20_000

    /// The maximum number of ended requests with a queued reply that one search for the oldest puts off.
    private static let maximumSkipped = 100

    /// The members of Apple's event that identify a request.
    fileprivate struct Subject: Hashable {
        let business: BusinessID
        let requestIdentifier: String
    }

    private var rows: [RequestName: OpenRequest] = [:]
    private var byEntry: [ReplyID: RequestName] = [:]
    private var bySubject: [Subject: [CustomerID: Set<RequestName>]] = [:]
    private var openOfCustomer: [ConversationKey: Set<RequestName>] = [:]
    private var openOfBusiness: [BusinessID: Int] = [:]
    private var endedOfBusiness: [BusinessID: Ended] = [:]
    private var open = 0
    /// The payments whose charge may have to be reversed.
    private(set) var busy: Set<RequestName> = []

    /// The ended requests of a business that may be removed.
    private struct Ended {
        /// A request with the end of its time.
        struct Removal: Comparable {
            let until: Timestamp
            let name: RequestName
            /// How often the removal was put off, because the reply was queued.
            var delays = 0

            static func < (left: Removal, right: Removal) -> Bool {
                (left.delays, left.until, left.name.digits) < (right.delays, right.until, right.name.digits)
            }
        }

        var count = 0
        /// The removals; one whose request has changed since is skipped.
        var removals = MinimumHeap<Removal>()
    }

    /// The number of requests.
    var count: Int { rows.count }

    func holds(_ name: RequestName) -> Bool { rows[name] != nil }

    /// Returns the request whose message is sent with this reply.
    func name(of entry: ReplyID) -> RequestName? { byEntry[entry] }

    /// Returns the newest request that has this identifier and agrees with the claim.
    func name(of identifier: String, _ claim: RequestClaim) -> ClaimedRequest<RequestName> {
        let subject = Subject(business: claim.business, requestIdentifier: identifier)
        guard let customers = bySubject[subject] else { return .unknown }
        let names = claim.customer.map { customers[$0] ?? [] } ?? customers.values.reduce([]) { $0.union($1) }
        let agreeing = names.filter { name in rows[name].map { claim.agrees(with: $0) } ?? false }
        return agreeing.max(by: isOlder).map { .agreed($0) } ?? .other
    }

    /// Whether the first request began before the second one.
    private func isOlder(_ first: RequestName, than second: RequestName) -> Bool {
        guard let first = rows[first], let second = rows[second] else { return false }
        return (first.begunAt, first.entry) < (second.begunAt, second.entry)
    }

    /// Returns the requests whose time limit has passed, in the order of their folders.
    func late(at now: Timestamp) -> [RequestName] { names { $0.until <= now } }

    /// Returns the requests of the conversations that satisfy `isWanted`, in the order of their folders.
    func names(where isWanted: (ConversationKey) -> Bool) -> [RequestName] {
        names { isWanted($0.conversation) }
    }

    private func names(_ isWanted: (OpenRequest) -> Bool) -> [RequestName] {
        rows.filter { isWanted($0.value) }.map(\.key).sorted { $0.digits < $1.digits }
    }

    /// Returns the oldest ended request of a business that has too many of them; nil when it has not.
    ///
    /// A busy request is never returned, and neither is one whose reply `isQueued`: without the request, the
    /// repeated message would ask the customer a second time. Such a request is looked at again after the others,
    /// so that any number of them is passed in a few searches.
    mutating func endedSurplus(of business: BusinessID, isQueued: (ReplyID) -> Bool) -> RequestName? {
        guard var ended = endedOfBusiness[business], ended.count >= Self.maximumEndedOfBusiness else {
            return nil
        }
        var (skipped, found): ([Ended.Removal], RequestName?) = ([], nil)
        while found == nil, skipped.count < Self.maximumSkipped, let next = ended.removals.popFirst() {
            guard let row = rows[next.name], row.isRemovable, row.until == next.until else { continue }
            if isQueued(row.entry) { skipped.append(next) } else { found = next.name }
        }
        for var removal in skipped {
            removal.delays += 1
            ended.removals.insert(removal)
        }
        endedOfBusiness[business] = ended
        return found
    }

    /// Returns the request to remove before another of this customer is added: the oldest that is not busy.
    ///
    /// One that has a result, or whose reply `isQueued`, leaves only if there is no other. Nil when the customer is
    /// below the limit, and when all of the open requests are busy.
    func surplus(
        of business: BusinessID, _ customer: CustomerID, isQueued: (ReplyID) -> Bool
    ) -> RequestName? {
        let open = openOfCustomer[ConversationKey(business: business, customer: customer)] ?? []
        guard open.count >= Self.maximumOfCustomer else { return nil }
        // Never choose a payment whose charge may have to be reversed.
        let idle = open.filter { rows[$0]?.isBusy == false }
        let unused = idle.filter { name in
            rows[name].map { !$0.hasResult && !isQueued($0.entry) } ?? false
        }
        return unused.min(by: isOlder) ?? idle.min(by: isOlder)
    }

    /// Returns the limit that another request of this business would exceed; nil when it would exceed none.
    ///
    /// Only open requests count. A request that replaces a `surplus` one never exceeds a limit. When all
    /// businesses together have ``maximum`` open requests, only those with more than their share are refused.
    func exceededLimit(
        of business: BusinessID, _ customer: CustomerID, replacing surplus: RequestName?
    ) -> Int? {
        if surplus != nil { return nil }
        // All of the customer's requests are busy.
        let ofCustomer = openOfCustomer[ConversationKey(business: business, customer: customer)] ?? []
        if ofCustomer.count >= Self.maximumOfCustomer { return Self.maximumOfCustomer }
        let ofBusiness = openOfBusiness[business, default: 0]
        if ofBusiness >= Self.maximumOfBusiness { return Self.maximumOfBusiness }
        let share = max(Self.maximum / max(openOfBusiness.count, 1), 1)
        return open >= Self.maximum && ofBusiness >= share ? share : nil
    }

    /// Adds or replaces a request; removes it when `request` is nil.
    mutating func set(_ name: RequestName, to request: OpenRequest?) {
        if let old = rows.removeValue(forKey: name) { forget(name, old) }
        guard let request else { return }
        var row = request
        (row.payload, row.result, row.confirmation) = (nil, nil, nil)
        rows[name] = row
        bySubject[row.subject, default: [:]][request.customer, default: []].insert(name)
        // Keep an ended request findable: when its message is sent again, no second request may be made.
        byEntry[row.entry] = name
        if row.isBusy { busy.insert(name) }
        guard row.phase.isOpen else {
            endedOfBusiness[request.business, default: Ended()].count += 1
            if row.isRemovable {
                endedOfBusiness[request.business]?.removals.insert(.init(until: row.until, name: name))
            }
            return
        }
        openOfCustomer[row.conversation, default: []].insert(name)
        openOfBusiness[request.business, default: 0] += 1
        open += 1
    }

    private mutating func forget(_ name: RequestName, _ row: OpenRequest) {
        let (business, customer, conversation) = (row.business, row.customer, row.conversation)
        bySubject[row.subject]?[customer]?.remove(name)
        if bySubject[row.subject]?[customer]?.isEmpty ?? false { bySubject[row.subject]?[customer] = nil }
        if bySubject[row.subject]?.isEmpty ?? false { bySubject[row.subject] = nil }
        if byEntry[row.entry] == name { byEntry[row.entry] = nil }
        busy.remove(name)
        guard row.phase.isOpen else {
            forgetEnded(of: business)
            return
        }
        open -= 1
        openOfCustomer[conversation]?.remove(name)
        if openOfCustomer[conversation]?.isEmpty ?? false { openOfCustomer[conversation] = nil }
        openOfBusiness[business, default: 1] -= 1
        if openOfBusiness[business] == 0 { openOfBusiness[business] = nil }
    }

    /// Counts an ended request less, and drops the oldest removals whose requests have changed.
    private mutating func forgetEnded(of business: BusinessID) {
        guard var ended = endedOfBusiness.removeValue(forKey: business), ended.count > 1 else { return }
        ended.count -= 1
        while let first = ended.removals.first, rows[first.name]?.until != first.until {
            _ = ended.removals.popFirst()
        }
        endedOfBusiness[business] = ended
    }
}

extension OpenRequest {
    fileprivate var conversation: ConversationKey { ConversationKey(business: business, customer: customer) }
    fileprivate var subject: RequestTable.Subject {
        RequestTable.Subject(business: business, requestIdentifier: requestIdentifier)
    }
    fileprivate var hasResult: Bool { phase == .recorded || phase == .confirmed }
    /// Whether the request has ended, and no charge may have to be reversed.
    fileprivate var isRemovable: Bool { !phase.isOpen && !isBusy }
}
