import FrameTransport
import FrameWire
import Testing
import TurboJPEG

@testable import FrameSocket

/// An uploader's machine and a plain receiver; what it asks for is done at once.
struct ImageRig {
    var machine: UploaderMachine
    var now: UInt64 = 1_000_000_000
    var messages: [FrameMessage] = []
    var encodingFails = false
    private var terms = ReceiverTerms()
    private let encoder = FrameEncoder()
    private let digester = FrameDigester()
    private let store = SharedBufferStore()

    init(_ configuration: SampleUploader.Configuration) {
        machine = UploaderMachine(configuration, owner: 1)
        change { ($0.connection, $0.isConnected) = (1, true) }
    }

    mutating func change(settles: Bool = true, _ change: (inout ReceiverTerms) -> Void) {
        change(&terms)
        terms.revision += 1
        machine.termsChanged(terms, at: now)
        if settles { settle() }
    }

    mutating func offer(_ content: FrameContent, settles: Bool = true) {
        now += 10_000_000
        _ = machine.offer(content, at: now)
        if settles { settle() }
    }

    /// Lets time pass, in steps of 23 ms at most.
    mutating func pass(milliseconds: UInt64) {
        let end = now + milliseconds * 1_000_000
        while now < end {
            now = min(end, now + 23_000_000)
            if let timer = machine.timer, timer <= now {
                machine.deadlinePassed(at: now)
                settle()
            }
        }
    }

    /// Offers a frame that is sent.
    mutating func send(_ content: FrameContent) throws {
        let count = messages.count
        offer(content)
        try #require(messages.count == count + 1)
    }

    mutating func settle() {
        var effects = machine.takeEffects()
        while effects.startsUpload || effects.message != nil {
            if let message = effects.message {
                messages.append(message)
                machine.sent(nil, at: now)
            } else if var job = machine.beginUpload(at: now) {
                let failure = EncodingResult.failed(TurboJPEGError(.encodeFailed, "as told"))
                machine.encoded(encodingFails ? failure : job.encode(with: encoder, digester, store), at: now)
            }
            effects = machine.takeEffects()
        }
    }
}
