package failover

import (
	"testing"
	"time"
)

// The primary's machine hangs: connections stay, and nobody answers. Its standby is
// promoted all the same, and every replica goes on there.
func TestFailover_frozen(t *testing.T) {
	s := newScene(t, newPair(t, true), usual, 200)
	s.begin()
	hung := time.Now()
	if err := s.primary.Freeze(); err != nil {
		t.Fatal(err)
	}
	// Who promotes a standby makes sure that the primary is gone for good; it must not
	// wake up. It is killed when the replicas have given it up.
	t.Cleanup(func() { _ = s.primary.Kill() })
	promoted := make(chan struct{})
	first := make(chan []time.Time, 1)
	go func() { first <- s.probe(promoted) }()
	at := s.promote()
	close(promoted)
	var gaps []time.Duration
	for i, back := range <-first {
		gap := back.Sub(at)
		gaps = append(gaps, gap)
		if back.IsZero() || gap > 3*within {
			t.Errorf("replica %d took a write %v after the promotion, want at most %v", i, gap, 3*within)
		}
	}
	t.Logf("promoted %v after the primary hung; from there to a write: %s", at.Sub(hung).Round(time.Millisecond), spread(gaps))
	store := s.open()
	s.settle(store)
	s.end()
	itself, told := s.check(store)
	report(t, append(itself, told...))
	if n := s.record.told["late"]; n > 0 {
		t.Errorf("%d calls were kept waiting for the primary", n)
	}
	for _, x := range s.record.strange[:min(5, len(s.record.strange))] {
		t.Errorf("a strange answer, one of %d: %s", len(s.record.strange), x)
	}
}
