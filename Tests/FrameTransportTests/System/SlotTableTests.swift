import TestDescriptions
import Testing

@testable import FrameTransport

@Suite(.tags(.computes)) struct SlotTableTests {
    @Test func `a token identifies its element until that is removed, and never the next one in its place`() {
        var table = SlotTable<String>()
        var tokens: [UInt64] = []
        func insert(_ text: String) {
            _ = table.insert { token in
                tokens.append(token)
                return text
            }
        }
        insert("first")
        insert("second")
        let removed = table.remove(tokens[0])
        let again = table.remove(tokens[0])
        insert("third")
        #expect(removed == "first" && again == nil)
        #expect(tokens.map { table[$0] } == [nil, "second", "third"])
        #expect(Set(tokens).count == 3 && !tokens.contains(0))
        // The number of a slot alone, or one that was never given out, names nothing.
        for token in [0, 1, 2, UInt64.max] { #expect(table[token] == nil) }
    }
}
