import BalloonPOSIX
import BusinessMessages
import GatewayClient
import MessageStore

/// Shows customers that somebody types before an automatic message.
///
/// The indicators have a path of their own: no record, no line, no retry, and no effect on ``GatewayHealth``.
extension ReplySender {
    /// The maximum number of indicators that are being sent.
    private static let maximumTyping = 64

    /// Sends an indicator for each pause that begins, until the store stops leasing or the task is cancelled.
    func showTyping() async {
        let permits = AsyncSemaphore(Self.maximumTyping)
        await withDiscardingTaskGroup { group in
            for await start in store.begunPauses where await permits.acquire() {
                group.addTask { [self] in
                    await showTyping(start)
                    permits.release()
                }
            }
        }
    }

    /// Makes one attempt, which ends when the message is due: a later indicator would follow its message.
    private func showTyping(_ start: ReplyPause) async {
        // An unreadable file is reported when the message is sent.
        guard start.due > SteadyClock.now(),
            (try? store.isClosedByCustomer(start.business, start.customer)) == false
        else { return }
        let pause = Duration.milliseconds(start.due.milliseconds - SteadyClock.now().milliseconds)
        _ = await withTimeLimit(pause) { [gateway, logger] in
            await TypingIndicators.sender(gateway, isAutomatic: true, logger)(
                ConversationID(business: start.business, customer: start.customer), true)
        }
    }
}
