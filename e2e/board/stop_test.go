package board

import (
	"strings"
	"testing"
)

// A worker that a person has stopped gets no more work on its connection, whatever name it
// takes. Another connection does.
func TestStop(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.cli(t, "task", "add", "One")
	p := s.pipe(t, s.dir)
	worker := p.call(t, "get_next_task", nil).facts.Claim.Worker
	if said := s.cli(t, "stop", worker); !strings.Contains(said, "whatever name its connection takes next, and web-1 is back on the board") {
		t.Errorf("bossman stop said %q", said)
	}
	for _, a := range []args{{}, {"worker": "new"}, {"worker": worker}, {"task": "web-1"}, {"wait_seconds": 1}} {
		got, err := p.try("get_next_task", a)
		if err != nil || !got.refused || got.facts.Error != "stopped" {
			t.Errorf("get_next_task %v = %+v, %v, want it refused: stopped", a, got, err)
		}
	}
	if _, err := p.request("getNextTask", args{}); err == nil || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("getNextTask: %v, want that it was stopped", err)
	}
	if got := s.pipe(t, s.dir).call(t, "get_next_task", nil); got.facts.Claim.Task != "web-1" {
		t.Errorf("another connection was told %s", got.text)
	}
}
