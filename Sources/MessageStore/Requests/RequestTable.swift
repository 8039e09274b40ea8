import BalloonPOSIX
import BusinessMessages

/// The open requests in memory, without their secrets: finds requests, and enforces the limits.
struct RequestTable {
    /// The maximum number of open requests of a customer with a business; one more replaces the oldest.
    static let maximumOfCustomer = 5
    /// The maximum number of open requests of a business.
    static let maximumOfBusiness = 10_000
    /// The maximum number of requests with the ended ones that are still kept.
    static let maximum = 100_000

    private struct Row {
        let conversation: ConversationKey
        let subject: Subject
        let entry: ReplyID
        let begunAt: Timestamp
        let until: Timestamp
        let isOpen: Bool
        let isBusy: Bool
        let isPayment: Bool
    }

    /// The members of Apple's event that identify a request.
    private struct Subject: Hashable {
        let business: BusinessID
        let requestIdentifier: String
    }

    private var rows: [RequestName: Row] = [:]
    private var byEntry: [ReplyID: RequestName] = [:]
    private var bySubject: [Subject: RequestName] = [:]
    private var openOfCustomer: [ConversationKey: Set<RequestName>] = [:]
    private var openOfBusiness: [BusinessID: Int] = [:]

    /// The number of requests.
    var count: Int { rows.count }

    func holds(_ name: RequestName) -> Bool { rows[name] != nil }

    /// Returns the request whose message is sent with this reply.
    func name(of entry: ReplyID) -> RequestName? { byEntry[entry] }

    /// Returns the request whose message has this identifier.
    func name(of business: BusinessID, _ requestIdentifier: String) -> RequestName? {
        bySubject[Subject(business: business, requestIdentifier: requestIdentifier)]
    }

    /// The payments whose charge may have to be reversed.
    var busy: [RequestName] { rows.filter(\.value.isBusy).map(\.key) }

    /// Returns the requests whose time limit has passed.
    func late(at now: Timestamp) -> [RequestName] { rows.filter { $0.value.until <= now }.map(\.key) }

    /// Returns the request to remove before another of this customer is added: the oldest that is not busy.
    ///
    /// Nil when the customer is below the limit, and when all of the open requests are busy.
    func surplus(of business: BusinessID, _ customer: CustomerID) -> RequestName? {
        let open = openOfCustomer[ConversationKey(business: business, customer: customer)] ?? []
        guard open.count >= Self.maximumOfCustomer else { return nil }
        // Never choose a payment whose charge may have to be reversed.
        return open.filter { rows[$0]?.isBusy == false }.min { left, right in
            guard let first = rows[left], let second = rows[right] else { return false }
            return (first.begunAt, first.entry) < (second.begunAt, second.entry)
        }
    }

    /// Returns the limit that another request of this business would exceed; nil when it would exceed none.
    ///
    /// A request that replaces a `surplus` one never exceeds a limit.
    func exceededLimit(
        of business: BusinessID, _ customer: CustomerID, replacing surplus: RequestName?
    ) -> Int? {
        if surplus != nil { return nil }
        // All of the customer's requests are busy.
        let open = openOfCustomer[ConversationKey(business: business, customer: customer)] ?? []
        if open.count >= Self.maximumOfCustomer { return Self.maximumOfCustomer }
        if rows.count >= Self.maximum { return Self.maximum }
        return openOfBusiness[business, default: 0] >= Self.maximumOfBusiness ? Self.maximumOfBusiness : nil
    }

    /// Adds or replaces a request; removes it when `request` is nil.
    mutating func set(_ name: RequestName, to request: OpenRequest?) {
        if let old = rows.removeValue(forKey: name) { forget(name, old) }
        guard let request else { return }
        let row = Row(
            conversation: ConversationKey(business: request.business, customer: request.customer),
            subject: Subject(business: request.business, requestIdentifier: request.requestIdentifier),
            entry: request.entry, begunAt: request.begunAt, until: request.until,
            isOpen: request.phase.isOpen, isBusy: request.isBusy, isPayment: request.kind == .payment)
        rows[name] = row
        bySubject[row.subject] = name
        // Keep an ended payment findable: when its message is sent again, no second request for the sum may
        // be made.
        if row.isOpen || row.isPayment { byEntry[row.entry] = name }
        guard row.isOpen else { return }
        openOfCustomer[row.conversation, default: []].insert(name)
        openOfBusiness[request.business, default: 0] += 1
    }

    private mutating func forget(_ name: RequestName, _ row: Row) {
        if bySubject[row.subject] == name { bySubject[row.subject] = nil }
        if byEntry[row.entry] == name { byEntry[row.entry] = nil }
        guard row.isOpen else { return }
        openOfCustomer[row.conversation]?.remove(name)
        if openOfCustomer[row.conversation]?.isEmpty ?? false { openOfCustomer[row.conversation] = nil }
        let business = row.conversation.business
        openOfBusiness[business, default: 1] -= 1
        if openOfBusiness[business] == 0 { openOfBusiness[business] = nil }
    }
}
