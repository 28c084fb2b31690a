package agentcli

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/tools"
)

// claimed is a board with one claim.
type claimed struct {
	access.Board
	claim board.Claim
}

func (c *claimed) Summary(context.Context, string) (board.Summary, error) {
	return board.Summary{}, nil
}

func (c *claimed) Claims(context.Context, board.ClaimFilter) ([]board.Claim, error) {
	return []board.Claim{c.claim}, nil
}

// TestSession_held: another key's claim at a server is not the agent's, whatever place and
// conversation it tells, and the agent is neither told of it nor kept from stopping.
func TestSession_held(t *testing.T) {
	here := board.Where{Host: "h", Clone: "c", Dir: "/src/web"}
	projects := []board.Project{{Slug: "web"}}
	for _, conversation := range []string{"", "s-1", "s-2"} {
		for owner, own := range map[string]bool{"p-1": true, board.DirPrefix + "1": true, board.AnotherOwner: false, "key:eve/p-1": false} {
			principal := "local"
			if strings.HasPrefix(owner, "key:") {
				principal = "key:eve"
			}
			b := &claimed{claim: board.Claim{
				Handle: board.Handle{Task: board.ID{Project: "web", No: 1}, Attempt: 1, Nonce: "abc"},
				Worker: board.WorkerID{Principal: principal, Name: "ann"}, Owner: owner, Where: here, Session: conversation, LastCall: time.Now(),
			}}
			s := &session{Desk: &Desk{Board: b, Caller: access.Local(auth.Worker, "web"), Options: tools.Options{Where: func(context.Context) board.Where { return here }}}}
			primed, err := s.primed(t.Context(), projects, "s-1")
			if err != nil || strings.Contains(primed, "web-1") != own {
				t.Errorf("with a claim of owner %q in conversation %q, an agent is told\n%s\n%v", owner, conversation, primed, err)
			}
			stopped, err := s.stopped(t.Context(), projects, hookInput{Session: "s-1"})
			if err != nil || (stopped != "") != (own && conversation != "s-2") {
				t.Errorf("with a claim of owner %q in conversation %q, an agent that stops is told %q, %v", owner, conversation, stopped, err)
			}
		}
	}
}
