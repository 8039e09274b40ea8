/// One conversation to be played: a customer with a device, and what happens in order.
package struct Scene: Sendable {
    /// The part of the review to which the scene belongs.
    package let play: Play
    /// The scene's name, unique in a review.
    package let name: String
    /// The device.
    package var device = Device.iphone
    /// The language and region of the device.
    package var locale: String?
    /// The purpose that the entry link names.
    package var intent: String?
    /// The steps in order.
    package var steps: [Step]
    /// Whether no other scene may run meanwhile, because the scene measures time or breaks something.
    package var isAlone = false

    /// Creates a scene.
    package init(
        _ play: Play, _ name: String, device: Device = .iphone, locale: String? = nil, intent: String? = nil,
        isAlone: Bool = false, _ steps: [Step]
    ) {
        self.play = play
        self.name = name
        self.device = device
        self.locale = locale
        self.intent = intent
        self.isAlone = isAlone
        self.steps = steps
    }
}

/// The parts of a review; a check names the parts that it judges.
package enum Play: String, CaseIterable, Sendable {
    case greeting, buttons, useCases, returning, words, stuck, offScript, handOff, person, memory, devices
    case files, languages, deletion, silence, ending, consent, notices, signIn, payment, features, faults
    case closed
    /// Conversations that were stored, not played.
    case stored
}

/// A device, whose system decides what it can show.
package enum Device: String, CaseIterable, Sendable {
    case iphone, ipad, mac
    case oldIPhone = "old-iphone"
    /// A device without interactive messages, such as a watch.
    case plain
}

/// One step of a scene.
package enum Step: Sendable, Equatable {
    /// The end of a sign-in or a payment.
    package enum Outcome: String, CaseIterable, Sendable { case success, failure, cancel }
    /// A file of a customer.
    package enum Sample: String, CaseIterable, Sendable { case photo, pdf, audio, unknown }

    /// The customer writes a text.
    case say(String)
    /// The customer chooses these items of the open question; without an open question, or such an item, writes them.
    case choose([String])
    /// The customer answers the open questions, at most this many, with their first items.
    case answer(upTo: Int)
    /// The customer signs in or pays, with this end, at the open question.
    case end(Outcome)
    /// The customer sends a file, with words or without.
    case attach(Sample, String)
    /// The customer reacts with a heart to the last message of this form.
    case react(toBubble: Bool)
    /// The customer deletes the conversation.
    case leave
    /// A person, the first or the second one, claims the conversation, also from another person.
    case claim(second: Bool)
    /// The person types.
    case type
    /// The person writes.
    case write(String)
    /// The person returns the conversation to the handler, or to the other persons.
    case release(toHandler: Bool)
    /// The person closes the conversation.
    case close
    /// The person sends a message of this kind.
    case show(FeatureMessage)
    /// A request with this token arrives, as Apple never sends one.
    case knock(Token)
    /// A brand opens the landing page from Apple Business Register; a test account sends its identifier only.
    case landing(onlyID: Bool)
    /// A program sends a notice.
    case notify(String)
    /// Nothing happens for this time.
    case silence(seconds: Double)
    /// Something is broken from now on, until the end of the scene.
    case fault(Fault)

    /// The token of a request to the webhook.
    package enum Token: String, CaseIterable, Sendable { case wrong, missing, expired }

    /// Something that a scene breaks.
    package enum Fault: String, CaseIterable, Sendable {
        /// The handler answers 4 seconds late.
        case slow
        /// The process of the handler is killed.
        case killed
        /// The gateway answers 500 once.
        case gateway
    }
}
