package board

import (
	"errors"
	"testing"
	"time"
)

// A sweep that fails every second logs a new error at once, and the same one every ten minutes.
func TestFailure(t *testing.T) {
	full, away := errors.New("disk full"), errors.New("database away")
	var f failure
	now := time.Now()
	for i, x := range []struct {
		after time.Duration
		err   error
		want  bool
	}{
		{0, nil, false},
		{time.Second, full, true},
		{2 * time.Second, full, false},
		{3 * time.Second, away, true},
		{4 * time.Second, full, true},
		{4*time.Second + sayAgain, full, true},
		{5*time.Second + sayAgain, full, false},
		{6*time.Second + sayAgain, nil, false},
		{7*time.Second + sayAgain, full, true},
	} {
		if got := f.news(x.err, now.Add(x.after)); got != x.want {
			t.Errorf("%d: %v after %v is news: %v, want %v", i, x.err, x.after, got, x.want)
		}
	}
}
