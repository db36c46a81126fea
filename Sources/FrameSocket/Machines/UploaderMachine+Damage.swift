/// The damage that the program states; not asked before there is any.
extension UploaderMachine {
    /// Gives a frame the hash of the one that it is compared with, if nothing has changed since.
    mutating func recognizeUnchanged(_ frame: inout UploadFrame) {
        guard frame.digest == nil, schedule.pacer.pacing.comparesImages,
            let digest = schedule.reference.digest,
            damageLog.isUnchanged(frame.ticket, since: schedule.reference.ticket)
        else { return }
        frame.digest = digest
    }

    /// Returns the damage for the encoder, from the image that it has prepared last to this one.
    mutating func beginDamage(of frame: borrowing UploadFrame, isRepeat: Bool) -> EncodingJob.Damage {
        damageLog.begin(frame.ticket, frame.recipe, newest: slots.lastTicket, isRepeat: isRepeat)
    }

    /// Notes whether the encoder has prepared an image.
    mutating func endDamage(with result: EncodingResult) {
        switch result {
        case .encoded, .shared: damageLog.finish()
        case .notShared, .unchanged, .failed: damageLog.takeBack()
        }
    }
}
