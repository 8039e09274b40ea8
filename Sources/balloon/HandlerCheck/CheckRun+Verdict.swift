import BalloonPOSIX
import HandlerBridges
import HandlerKit
import HandlerProtocol
import MessageServer

/// Judges the program by its answer to an event.
extension CheckRun {
    func verdict(_ answer: ChildSession.Answer, after time: Duration) -> HandlerCheck.Finding.Verdict {
        switch answer {
        case .success(let result): verdict(result, after: time)
        case .failure(.timedOut):
            .failed(
                "no answer within \(check.deadline.milliseconds) ms",
                correction: "answer sooner, and flush standard output after each line")
        case .failure(.refused(let failure)) where !failure.problems.isEmpty:
            refused(AnswerRefusal(failure.problems))
        case .failure(.refused(let failure)):
            .failed(
                "error \(failure.code): \(failure.message)",
                correction: "answer the event, or leave its kind out of events")
        case .failure(let error): .failed(error.reason, correction: "read standard input line by line")
        }
    }

    private func verdict(_ result: JSONValue, after time: Duration) -> HandlerCheck.Finding.Verdict {
        do throws(AnswerRefusal) {
            let state = ConversationState()
            let outcome = try EventAnswer.outcome(result, changing: state, allowingFiles: true)
            try checkFiles(of: outcome)
            if case .handoff(_, _, let queue?, _, _) = outcome, !check.queues.isEmpty,
                !check.queues.contains(queue)
            {
                return .failed(
                    "the queue \(terminalText(queue)) does not exist",
                    correction: "hand off to one of \(check.queues.joined(separator: ", "))")
            }
            let remembers = state.change == nil ? "" : ", remembers \(state.change?.count ?? 0) bytes"
            return .passed("\(words(outcome))\(remembers), after \(time.milliseconds) ms")
        } catch {
            return refused(error)
        }
    }

    private func refused(_ refusal: AnswerRefusal) -> HandlerCheck.Finding.Verdict {
        .failed("the answer is refused", correction: refusal.explanation)
    }

    private func checkFiles(of outcome: Outcome) throws(AnswerRefusal) {
        for (index, reply) in outcome.replies.enumerated() {
            for (attachment, file) in reply.files.enumerated() {
                do throws(SystemError) { _ = try File(file.path, for: .readingGiven) } catch {
                    throw UnreadableFile(attachment: attachment, error: error).refusal(reply: index)
                }
            }
        }
    }

    private func words(_ outcome: Outcome) -> String {
        let count = outcome.replies.count
        let replies = "\(count) \(count == 1 ? "reply" : "replies")"
        return switch outcome {
        case .handled: "handled, \(replies)"
        case .retry: "asks for a retry"
        case .reject: "rejects the event"
        case .handoff: "passes the conversation to a person" + (count == 0 ? "" : ", \(replies)")
        }
    }
}

extension HandlerCheck.Finding.Verdict {
    /// This verdict; if a canned event failed, its correction also recommends `--events`.
    ///
    /// A handler may rightly fail at the identifiers of a canned event, which its own customers never send.
    func about(_ sample: HandlerCheck.Sample) -> HandlerCheck.Finding.Verdict {
        guard case .failed(let what, let correction) = self, sample.file == nil, sample.replyFailure == nil
        else {
            return self
        }
        let hint = "this event was canned: --events DIR checks your own events instead"
        return .failed(what, correction: "\(correction) (\(hint))")
    }
}

extension ChildSession.Answer {
    /// Whether the program answered with an error.
    var isRefusal: Bool { if case .failure(.refused) = self { true } else { false } }
}
