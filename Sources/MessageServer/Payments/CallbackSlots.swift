import BusinessMessages
import MessageStore

/// The bounded numbers of callbacks in progress: of all devices, of each business, and the order tracking of each
/// request.
///
/// A business's share is smaller than the whole, so that its devices cannot stop the payments of others.
struct CallbackSlots {
    /// The maximum number of callbacks at a time; further ones get 503.
    static let maximum = 2048
    /// The maximum number of callbacks of one business at a time.
    static let maximumOfBusiness = maximum / 2
    /// The maximum number of `orderTracking` callbacks of one request at a time.
    static let maximumTracking = 8

    private var running = 0
    private var businesses: [BusinessID: Int] = [:]
    private var tracking: [RequestName: Int] = [:]

    /// Counts a callback whose business is not known yet; false when there are too many.
    mutating func enter() -> Bool {
        guard running < Self.maximum else { return false }
        running += 1
        return true
    }

    mutating func leave() { running -= 1 }

    /// Counts a callback of a business, which has entered, and its request if it is tracked; false, without a
    /// change, when there are too many of either.
    mutating func enter(_ business: BusinessID, tracking request: RequestName?) -> Bool {
        guard businesses[business, default: 0] < Self.maximumOfBusiness else { return false }
        if let request {
            guard tracking[request, default: 0] < Self.maximumTracking else { return false }
            tracking[request, default: 0] += 1
        }
        businesses[business, default: 0] += 1
        return true
    }

    mutating func leave(_ business: BusinessID, tracking request: RequestName?) {
        Self.leave(business, in: &businesses)
        if let request { Self.leave(request, in: &tracking) }
    }

    private static func leave<Key>(_ key: Key, in counts: inout [Key: Int]) {
        let rest = counts[key, default: 1] - 1
        // Removed at zero, because the number of requests is unbounded.
        counts[key] = rest == 0 ? nil : rest
    }
}
