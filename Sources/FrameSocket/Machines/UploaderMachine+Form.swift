internal import FrameWire
internal import TurboJPEG

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
            let becomesSharper = isSharpening && frame.recipe != nil
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

    /// Decides how the content of a frame is sent, and makes the recipe for that.
    private mutating func prepare(_ frame: inout UploadFrame) -> Form {
        makeRecipe(for: &frame)
        guard frame.isWithin(configuration.limits) else { return .nothing(.outsideLimits) }
        guard sharing.pool.isOpen, let size = frame.recipe?.sharedByteCount, let place = sharing.pool.place(for: size)
        else { return .encode }
        return .share(place)
    }

    // MARK: Recipes

    /// Gives a frame the recipe for the configuration in effect.
    mutating func makeRecipe(for frame: inout UploadFrame) {
        guard let content = frame.content, frame.recipe?.edition != edition else { return }
        let orientation = frame.orientation
        if let lastRecipe, lastRecipe.edition == edition, lastRecipe.applies(to: content, orientation) {
            frame.recipe = lastRecipe
            return
        }
        frame.recipe = EncodingRecipe(content, orientation, .init(configuration), edition: edition)
        if frame.recipe?.input != nil { lastRecipe = frame.recipe }
    }

    /// Returns the recipe for copying a submitted image at the size that is sent.
    func copying(_ image: borrowing PixelBuffer, orientation: FrameOrientation) -> EncodingRecipe {
        EncodingRecipe(copying: image, orientation, .init(configuration), isShared: sharing.pool.isOpen)
    }
}
