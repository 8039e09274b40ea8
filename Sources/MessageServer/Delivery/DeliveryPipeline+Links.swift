import BusinessMessages
import HandlerKit
import Logging
import MessageStore

/// Web addresses in the texts of handlers.
extension DeliveryPipeline {
    /// The maximum number of messages of an answer, as of the replies of a handler.
    private static let maximumParts = 32
    /// The maximum number of web addresses of a text that become links.
    private static let maximumLinks = 3

    /// Returns the messages that are sent for a handler's replies, each with the index of its reply.
    ///
    /// With `replies.links` in the business's file, a text with web addresses becomes texts and links. A text with
    /// too many addresses stays, and so does one that would make too many messages of the answer.
    func linkParts(of replies: [Reply], _ delivery: Delivery) -> [(index: Int, reply: Reply)] {
        let whole = replies.enumerated().map { (index: $0, reply: $1) }
        guard configuration.setting(\.replies.links, of: delivery.business) == .convert,
            let hosts = configuration.setting(\.links.hosts, of: delivery.business)
        else { return whole }
        let names = Set(hosts.keys)
        var count = replies.count
        return whole.flatMap { index, reply -> [(index: Int, reply: Reply)] in
            let parts = reply.splitAtLinks(hosts: names, maximum: Self.maximumLinks) { url in
                LinkHost.host(of: url).map { hosts[$0]?.title ?? $0 } ?? url
            }
            guard let parts, count - 1 + parts.count <= Self.maximumParts else {
                if reply.linkCount(hosts: names) > 0 {
                    logger.warning(
                        "a text keeps its web addresses: too many addresses, or too many messages of one answer",
                        metadata: [
                            "business": "\(delivery.business.rawValue)", "delivery": "\(delivery.record)",
                            "place": "/replies/\(index)",
                        ])
                }
                return [(index, reply)]
            }
            count += parts.count - 1
            return parts.map { (index, $0) }
        }
    }
}
