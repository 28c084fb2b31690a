package crew

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/crew/agent"
)

// A mute is an agent that says one thing, and then nothing until it is ended.
type mute struct {
	agent.Agent
	tools  bool
	events chan agent.Event
	once   sync.Once
}

func (m *mute) Name() string               { return "mute" }
func (m *mute) Tools() bool                { return m.tools }
func (m *mute) Events() <-chan agent.Event { return m.events }
func (m *mute) Tell(string) bool           { return false }
func (m *mute) Finish()                    {}
func (m *mute) End()                       { m.once.Do(func() { close(m.events) }) }

// held is a board on which the job has its claim.
type held struct {
	Board
	claim board.Claim
}

func (h held) Renew(context.Context, string, bool) ([]board.Claim, error) {
	return []board.Claim{h.claim}, nil
}

// TestJob_silence: a model that says nothing is ended soon, but not while a tool of it runs, and a
// program, whose work nobody sees, has as long as a tool.
func TestJob_silence(t *testing.T) {
	for name, tc := range map[string]struct {
		tools, calling bool
		want           time.Duration
	}{
		"model":   {true, false, 10 * time.Minute},
		"tool":    {true, true, 2 * time.Hour},
		"command": {false, false, 2 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &mute{tools: tc.tools, events: make(chan agent.Event, 1)}
				m.events <- agent.Event{Kind: agent.Activity, Calling: tc.calling}
				h := &board.Handout{}
				h.Claim = board.Claim{Lease: time.Minute}
				r := &Runner{o: Options{Board: held{claim: h.Claim}, Limits: DefaultLimits, Report: func(Event) {}}}
				j := &job{slot: &slot{r: r, agent: m}, h: h}
				began := time.Now()
				_, why := j.watch(t.Context(), m, func() int { return 0 }, func(agent.Event) {})
				if took := time.Since(began); why == nil || !strings.Contains(why.Error(), tc.want.String()) || took < tc.want || took > tc.want+2*look {
					t.Errorf("it was ended after %v: %v, want %v", took, why, tc.want)
				}
			})
		})
	}
}

// TestJob_attend: a setup ends when it takes too long, and with the claim of its job.
func TestJob_attend(t *testing.T) {
	own := board.Claim{Handle: board.Handle{Task: board.ID{Project: "web", No: 1}}, Lease: time.Minute}
	for name, tc := range map[string]struct {
		claim board.Claim // the one in force
		want  string
	}{
		"long": {own, "it took longer than 15m0s"},
		"lost": {board.Claim{}, errLost.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &mute{events: make(chan agent.Event)}
				r := &Runner{o: Options{Board: held{claim: tc.claim}, Limits: DefaultLimits, Report: func(Event) {}}}
				j := &job{slot: &slot{r: r, agent: m}, h: &board.Handout{}}
				j.h.Claim = own
				if _, why := j.attend(t.Context(), m); why == nil || why.Error() != tc.want {
					t.Errorf("it was ended because %v, want %s", why, tc.want)
				}
			})
		})
	}
}
