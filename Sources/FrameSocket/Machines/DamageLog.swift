internal import TurboJPEG

/// What may have changed since an uploader prepared an image last, as its program states it.
///
/// It counts what is submitted, whatever becomes of it: dropped, held back, replaced, or refused.
struct DamageLog: Sendable {
    /// The damage since the image that was prepared last; nil if anything may have changed.
    private(set) var sinceLast: ImageDamage?
    /// What the images are; nil after one without damage.
    private var subject: ImageDamage.Subject?

    /// Adds the damage of the next image; nil if anything in it may have changed.
    mutating func add(_ damage: ImageDamage?) {
        defer { subject = damage?.subject }
        guard let damage, damage.subject == subject, sinceLast != nil else {
            sinceLast = nil
            return
        }
        sinceLast?.formUnion(damage)
    }
}
