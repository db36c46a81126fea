import FrameSocket
import FrameSocketAudio

// 10 ms of 44,100 Hz mono, pulled as 48,000 Hz stereo.
let format = try AudioBlock.Format(sampleRate: 44_100, channels: 1)
let buffer = AudioRingBuffer()
try buffer.push(AudioBlock(format: format, samples: [Int16](repeating: 1_000, count: 4_410)))
let pull = try buffer.pull(frames: 480, as: AudioBlock.Format(sampleRate: 48_000, channels: 2))
print("\(pull.samples.count / 2) frames of 48000 Hz stereo, \(pull.silentFrames) of them silent")
