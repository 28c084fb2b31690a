package failover

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/faults/history"
)

// The primary dies under load and its synchronous standby takes over: nothing that was
// acknowledged is lost, and every replica serves again by itself.
func TestFailover_synchronous(t *testing.T) {
	var gaps, ready, outages []time.Duration
	n := times(20)
	for i := range n {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			s := newScene(t, newPair(t, true), usual, 200)
			s.begin()
			killed := time.Now()
			s.kill(i%2 == 0)
			// Half of the time the promotion comes at once, else when all have noticed.
			noticed := i/2%2 == 0
			if noticed {
				for _, r := range s.replicas {
					eventually(t, "noticed by "+r.name, func() bool { return r.status().status == http.StatusServiceUnavailable })
				}
			}
			promoted := make(chan struct{})
			first := make(chan []time.Time, 1)
			go func() { first <- s.probe(promoted) }()
			at := s.promote()
			close(promoted)
			for j, back := range <-first {
				gap := max(0, back.Sub(at))
				gaps, outages = append(gaps, gap), append(outages, back.Sub(killed))
				if back.IsZero() || gap > within {
					t.Errorf("replica %d took a write %v after the promotion, want at most %v", j, gap, within)
				}
			}
			for _, r := range s.replicas {
				eventually(t, "ready: "+r.name, func() bool { return r.status().status == http.StatusOK })
				again, err := r.readyAgain(at)
				if err != nil || again > within {
					t.Errorf("replica %s was ready after %v, %v; want at most %v", r.name, again, err, within)
				}
				if noticed {
					ready = append(ready, again)
				}
			}
			store := s.open()
			s.settle(store)
			s.end()
			itself, told := s.check(store)
			report(t, append(itself, told...))
			if s.record.told[noWorker] > 0 {
				t.Errorf("%d workers were forgotten", s.record.told[noWorker])
			}
			for _, x := range s.record.strange[:min(5, len(s.record.strange))] {
				t.Errorf("a strange answer, one of %d: %s", len(s.record.strange), x)
			}
			if epoch, timeline := s.epoch(); epoch != 2 || timeline != 2 {
				t.Errorf("epoch %d, timeline %d; want 2, 2", epoch, timeline)
			}
			for _, r := range s.replicas {
				if n := r.wrote("the database was promoted or restored"); n != 1 {
					t.Errorf("replica %s told its operator %d times of the failover, want once", r.name, n)
				}
			}
		})
	}
	t.Logf("%d failovers of %d replicas; from the promotion to a write: %s; to ready: %s; from the kill to a write: %s",
		n, usual, spread(gaps), spread(ready), spread(outages))
}

// spread is the middle and the most of some durations.
func spread(d []time.Duration) string {
	if len(d) == 0 {
		return "none"
	}
	slices.Sort(d)
	return fmt.Sprintf("p50 %v, max %v", d[len(d)/2].Round(time.Millisecond), d[len(d)-1].Round(time.Millisecond))
}

// With a standby that lags, what was acknowledged last is lost. That must be found out,
// or the test above shows nothing; and the board that is left must be whole.
func TestFailover_asynchronous(t *testing.T) {
	for i := range times(5) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			s := newScene(t, newPair(t, false), usual, 300)
			s.begin()
			s.cut()
			s.busy(100) // acknowledged, and lost
			s.kill(i%2 == 0)
			s.promote()
			s.busy(300)
			store := s.open()
			s.settle(store)
			s.end()
			itself, told := s.check(store)
			report(t, itself)
			var lost, twice int
			for _, err := range told {
				switch {
				case strings.Contains(err.Error(), "acknowledged, and not in the log"):
					lost++
				case strings.Contains(err.Error(), "granted twice"):
					twice++
				}
			}
			t.Logf("found: %d acknowledged calls lost, %d attempts granted twice, %d findings in all", lost, twice, len(told))
			if lost == 0 || twice == 0 {
				t.Errorf("%d acknowledged calls lost and %d attempts granted twice were found, want some of both", lost, twice)
			}
			if epoch, timeline := s.epoch(); epoch != 2 || timeline != 2 {
				t.Errorf("epoch %d, timeline %d; want 2, 2", epoch, timeline)
			}
			s.staleHolders()
		})
	}
}

// staleHolders shows that of two who hold the same attempt, the one whom the board has
// forgotten has done nothing.
func (s *scene) staleHolders() {
	s.t.Helper()
	store := s.open()
	known := map[string]bool{}
	for _, e := range s.feed(store) {
		if e.Kind == "claimed" {
			known[fmt.Sprintf("%v/%d.%s", e.Task, e.Detail.Attempt, e.Detail.Nonce)] = true
		}
	}
	refused := 0
	promoted := s.promotedAt.UnixNano()
	for _, op := range s.record.ops {
		if op.Kind != history.Done || known[op.Claim] || op.Call < promoted {
			continue
		}
		switch op.Out {
		case history.OK:
			s.t.Errorf("a report under a claim that the board has lost was taken: %v", op)
		case history.Lost:
			refused++
		}
	}
	s.t.Logf("%d reports under lost claims were refused", refused)
}
