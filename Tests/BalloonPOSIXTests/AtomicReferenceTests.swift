import BalloonPOSIX
import Synchronization
import Testing

@Suite struct AtomicReferenceTests {
    /// An object that counts the living objects of its kind.
    private final class Number: Sendable {
        let value: Int
        private let living: Counter

        init(_ value: Int, _ living: Counter) {
            self.value = value
            self.living = living
            living.count.add(1, ordering: .relaxed)
        }

        deinit { living.count.subtract(1, ordering: .relaxed) }
    }

    private final class Counter: Sendable {
        let count = Atomic(0)
    }

    @Test func `readers see replacements in order, and replaced objects are released`() async {
        let living = Counter()
        let last = 2000
        let reference = AtomicReference(Number(0, living))
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    var seen = 0
                    while seen < last {
                        for _ in 0..<100 {
                            let value = reference.value.value
                            if value < seen { return false }
                            seen = value
                        }
                        // The writer needs a thread too.
                        await Task.yield()
                    }
                    return true
                }
            }
            group.addTask {
                for _ in 0..<last {
                    reference.replace { Number($0.value + 1, living) }
                    await Task.yield()
                }
                return true
            }
            for await isInOrder in group { #expect(isInOrder) }
        }
        #expect(reference.value.value == last)
        #expect(living.count.load(ordering: .relaxed) == 1)
    }

    @Test func `replacements by several writers are all kept`() async {
        let living = Counter()
        let reference = AtomicReference(Number(0, living))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { for _ in 0..<1000 { reference.replace { Number($0.value + 1, living) } } }
            }
        }
        #expect(reference.value.value == 4000)
    }
}
