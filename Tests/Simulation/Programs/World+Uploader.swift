internal import FrameTransport
internal import FrameWire

extension World {
    func performUploading(_ action: Plan.Action, of sender: SimSender) {}
    func offerToUploader(_ sender: SimSender, _ number: UInt32) {}
    func uploadSettled(_ settlement: SendLaneMachine.Settlement, of sender: SimSender) {}
    func stepUploading(_ timer: ProgramTimer, of sender: SimSender) {}
    func termsChanged(of sender: SimSender) {}
    func uploaderConnectionEnded(_ sender: SimSender) {}
    func stopUploadFaults() {}
    func checkUploadersSettled() {}
    func checkUploadersReleased() {}
    func missingFrame(_ sender: SimSender, _ monitor: SenderMonitor) -> String? { nil }
}
