internal import FrameWire

extension SimThread { enum Task { case turn } }
extension World {
    func addServer(_ plan: ServerPlan, _ all: Plan) -> Int { 0 }
    func addSender(_ plan: SenderPlan, _ all: Plan) -> Int { 0 }
    func perform(_ action: Plan.Action, server: Int) {}
    func perform(_ action: Plan.Action, sender: Int) {}
    func run(_ task: SimThread.Task, of owner: Owner) {}
    func becameReady(_ readiness: SocketReadiness, _ owner: Owner) {}
    func deadlinePassed(_ owner: Owner) {}
    func checkTurn(of owner: Owner) {}
    func stepProgram(_ index: Int, _ argument: Int) {}
    func stopProgramFaults() {}
    func releasePrograms() {}
    func checkProgramsReleased() {}
    var settlingTime: UInt64 { 1_000_000_000 }
    var isSettled: Bool { false }
    func checkSettled() {}
    func received(_ identity: Content.Identity, _ head: FrameHead, by peer: Int) {}
}
