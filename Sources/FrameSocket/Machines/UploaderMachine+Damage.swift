/// The damage that the program states.
extension UploaderMachine {
    /// Gives a frame the hash of the one that it is compared with, if nothing has changed since.
    mutating func recognizeUnchanged(_ frame: inout UploadFrame) {
        guard damageLog.isUsed, !configuration.verifiesDamage, frame.digest == nil,
            schedule.pacer.pacing.comparesImages,
            let digest = schedule.reference.digest,
            damageLog.isUnchanged(frame.ticket, since: schedule.reference.ticket)
        else { return }
        frame.digest = digest
    }

    /// Returns the damage for the encoder, from the image that it has prepared last to this one.
    mutating func beginDamage(of frame: borrowing UploadFrame, isRepeat: Bool) -> EncodingJob.Damage {
        var damage = damageLog.begin(frame.ticket, frame.recipe, newest: slots.lastTicket, isRepeat: isRepeat)
        damage.isVerified = configuration.verifiesDamage
        return damage
    }

    /// States the rows in which an image that was drawn in a shared buffer differs from the receiver's last.
    mutating func stateDamage(of frame: inout UploadFrame) {
        guard damageLog.isUsed, var image = frame.bufferedImage, case .drawn = image.origin else { return }
        let damage = damageLog.begin(frame.ticket, frame.recipe, newest: slots.lastTicket, isRepeat: false)
        sharing.drawn(&image, damage.rows(of: frame.recipe))
        frame.recognize(image)
    }

    /// Counts an image whose damage was too small.
    package mutating func damageWasTooSmall() { statistics.damageErrors += 1 }
}
