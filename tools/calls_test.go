package tools

import (
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// The next worker reads which tools of other servers were called, in one line each.
func TestCallLines(t *testing.T) {
	at := time.Date(2026, 1, 2, 14, 2, 0, 0, time.UTC)
	calls := board.DossierCalls{
		Last: []board.Call{
			{BeganAt: at, Upstream: "github", Tool: "create_issue", Outcome: board.CallOK, Step: "open-issue"},
			{BeganAt: at.Add(3 * time.Minute), Upstream: "deploy", Tool: "run", Outcome: board.CallUnknown},
			{BeganAt: at.Add(4 * time.Minute), Upstream: "deploy", Tool: "run", Outcome: board.CallRPCError, Step: "x\ny"},
			{BeganAt: at.Add(5 * time.Minute), Upstream: "laptop/deploy", Tool: "run", Outcome: board.CallOK, Step: "go", Worker: board.WorkerID{Name: "w\n1"}},
		},
		Counts: []board.CallCount{{Outcome: board.CallOpen, N: 1}, {Outcome: board.CallOK, N: 12}, {Outcome: board.CallToolError, N: 2}},
		Reads:  40,
	}
	want := `14:02 github__create_issue ok (step "open-issue")
14:05 deploy__run OUTCOME UNKNOWN: check its effect before you repeat it
"14:06 deploy__run failed (step \"x\\ny\")"
by worker "w 1" on its laptop, as it says: "14:07 deploy__run ok (step \"go\")"
calls of other tools in all: 1 running, 12 ok, 2 failed, 40 that only read`
	if got := strings.Join(callLines(calls), "\n"); got != want {
		t.Errorf("callLines = %s, want %s", got, want)
	}
	if got := callLines(board.DossierCalls{}); got != nil {
		t.Errorf("callLines of no calls = %q", got)
	}
}
