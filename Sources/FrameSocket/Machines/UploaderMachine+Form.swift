/// What is sent of a frame: a JPEG that is made now, a copy in a shared buffer, or what is there.
extension UploaderMachine {
    /// What is sent of a frame.
    enum Form: Sendable, Hashable {
        /// A JPEG that is made now.
        case encode
        /// A copy in this shared buffer.
        case share(SharedPool.Place)
        /// The JPEG that it has.
        case asItIs
        /// Nothing, for this cause.
        case nothing(SampleUploader.DropCause)
    }

    /// Decides what to send of a frame to this receiver, and makes the recipe for that.
    mutating func decideForm(of frame: inout UploadFrame, isSharpening: Bool) -> Form {
        let isForOthers = frame.decidedFor != look
        frame.decidedFor = look
        if let jpeg = frame.jpeg {
            let isWithin = jpeg.isWithin(configuration.limits)
            let isSharpening = isSharpening || isNeedlesslyCoarse(frame)
            // While the image is there, a receiver gets it in its own terms, and one that shares memory gets no JPEG.
            let isImageWanted = isForOthers || isSharpening || (sharing.pool.isOpen && frame.hasPixels)
            guard frame.content != nil, isImageWanted else { return isWithin ? .asItIs : .nothing(.outsideLimits) }
            let form = prepare(&frame)
            let becomesSharper = isSharpening && isImprovable(&frame)
            guard case .nothing(let cause) = form, isWithin else {
                return form == .encode && !isForOthers && !becomesSharper && isWithin ? .asItIs : form
            }
            // The image that only other limits allow is not replaced by what another receiver wanted.
            if isForOthers, cause == .outsideLimits { return form }
            effects.discarded.add(frame.takeSpare())
            return .asItIs
        }
        return prepare(&frame)
    }

    /// Whether a JPEG of a higher quality than that of the one that was sent can be made by the recipe: there may be no
    /// memory any longer for what the receiver prefers.
    private func isImprovable(_ frame: inout UploadFrame) -> Bool {
        guard let sent = frame.quality, let highest = frame.recipe?.settings.quality else { return false }
        if highest <= sent.used { frame.quality = UploadFrame.Quality(used: sent.used, highest: highest) }
        return highest > sent.used
    }

    /// Decides how the content of a frame is sent, and makes the recipe for that.
    private mutating func prepare(_ frame: inout UploadFrame) -> Form {
        makeRecipe(for: &frame)
        guard frame.isWithin(configuration.limits) else { return .nothing(.outsideLimits) }
        guard makeRoom(toEncode: frame.totalByteCount) else { return .nothing(.overMemoryBudget) }
        guard sharing.pool.isOpen, let size = frame.recipe?.sharedByteCount, let place = sharing.pool.place(for: size)
        else { return .encode }
        return .share(place)
    }
}
