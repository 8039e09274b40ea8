import BalloonPOSIX
import Dispatch
import Testing

@Suite struct PublicKeyThreadsTests {
    @Test func `work runs outside the caller's thread and its result returns`() async {
        let threads = PublicKeyThreads()
        for number in 0..<100 {
            #expect(await threads.run { number * 2 } == number * 2)
        }
    }

    @Test func `a full queue refuses at once, and a finished job makes room`() async {
        let threads = PublicKeyThreads(maximumThreads: 1, maximumJobs: 1)
        let release = DispatchSemaphore(value: 0)
        let (starts, start) = AsyncStream.makeStream(of: Void.self)
        async let first = threads.run {
            start.yield()
            release.wait()
            return 1
        }
        for await _ in starts { break }
        #expect(await threads.run { 2 } == nil)
        release.signal()
        #expect(await first == 1)
        #expect(await threads.run { 3 } == 3)
    }
}
