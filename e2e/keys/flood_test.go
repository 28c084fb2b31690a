package keys

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/time/rate"
)

const (
	// offered is how many calls a second the flood brings, as far as the machine can.
	offered = 10_000
	// bearable is a wait that nobody minds. Below it, it does not matter whether it has
	// doubled: on a machine with two cores, the flood's own sender takes one.
	bearable = 50 * time.Millisecond
	// What a key may do by default: so many at once, and so many a second.
	usualBurst, usualRate = 2000, 200
)

// TestFlood: one key that calls as fast as it can is refused at the door, and the
// others notice little: what 99 of 100 of their calls take at most doubles.
func TestFlood(t *testing.T) {
	m := newTeam(t)
	s := m.serve(nil, "--db", m.dsn)
	var others []string
	for i := range 8 {
		others = append(others, m.key("web", "--role", "lead", "--owner", fmt.Sprintf("p%d", i)))
	}
	runaway := m.key("web", "--role", "lead", "--owner", "mallory")
	for range 20 {
		if code, text, err := s.tool(t.Context(), others[0], "create_task", `{"description":"Paint the door"}`); err != nil || code != 200 {
			t.Fatalf("create_task = %d %s, %v", code, text, err)
		}
	}
	const each = 8 * time.Second
	busy := loadOf(t)
	quiet := s.measure(t, others, each)
	var taken, refused, failed atomic.Int64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	pace := rate.NewLimiter(offered, 200)
	begun := time.Now()
	for range 64 {
		wg.Go(func() {
			for pace.Wait(t.Context()) == nil {
				select {
				case <-stop:
					return
				default:
				}
				code, text, err := s.tool(t.Context(), runaway, "list_tasks", `{}`)
				switch {
				case err != nil:
					failed.Add(1)
				case code == 200:
					taken.Add(1)
				case code == http.StatusTooManyRequests:
					refused.Add(1)
				default:
					t.Errorf("the flood is answered %d %s", code, text)
					return
				}
			}
		})
	}
	loud := s.measure(t, others, each)
	close(stop)
	wg.Wait()
	lasted := time.Since(begun)
	t.Logf("the machine's load was %.1f", busy)
	t.Logf("the flood: %.0f calls/s, of which %.0f/s were taken, %d refused, %d failed", float64(taken.Load()+refused.Load())/each.Seconds(), float64(taken.Load())/each.Seconds(), refused.Load(), failed.Load())
	t.Logf("the others, %d calls: 50 of 100 within %v, 99 within %v", len(quiet), quiet[len(quiet)/2], quiet[len(quiet)*99/100])
	t.Logf("in the flood, %d calls: 50 of 100 within %v, 99 within %v", len(loud), loud[len(loud)/2], loud[len(loud)*99/100])
	before, after := quiet[len(quiet)*99/100], loud[len(loud)*99/100]
	switch {
	case after <= max(2*before, bearable):
	case busy > float64(runtime.NumCPU()):
		t.Logf("not judged: this machine had %.1f things to do at once before the flood", busy)
	default:
		t.Errorf("99 of 100 calls take %v in the flood, and %v without", after, before)
	}
	// On a busy machine it lasts longer than it should.
	if most := usualBurst + usualRate*int64(lasted/time.Second+2); taken.Load() > most {
		t.Errorf("%d calls of the flood were taken, want at most %d", taken.Load(), most)
	}
	switch sent := taken.Load() + refused.Load(); {
	case refused.Load() > 0:
	case sent <= usualBurst+usualRate*int64(lasted/time.Second):
		t.Logf("not judged: this machine sent %d calls in %v, which a key may", sent, lasted)
	default:
		t.Error("nothing of the flood was refused")
	}
}

// loadOf is how much the machine has had to do in the last minute.
func loadOf(t *testing.T) (load float64) {
	t.Helper()
	text, err := os.ReadFile("/proc/loadavg")
	if err == nil {
		_, err = fmt.Sscan(string(text), &load)
	}
	if err != nil {
		t.Logf("the load is not known: %v", err)
	}
	return load
}

// measure lets each key make ten calls a second, and gives what they took, sorted.
func (s *server) measure(t *testing.T, keys []string, d time.Duration) []time.Duration {
	t.Helper()
	var mu sync.Mutex
	var took []time.Duration
	var wg sync.WaitGroup
	for i, key := range keys {
		wg.Go(func() {
			pace := rate.NewLimiter(10, 1)
			for n := 0; time.Duration(n)*100*time.Millisecond < d; n++ {
				if pace.Wait(t.Context()) != nil {
					return
				}
				begun := time.Now()
				code, text, err := s.tool(t.Context(), key, "get_task", fmt.Sprintf(`{"task":"web-%d"}`, (n+i)%20+1))
				if err != nil || code != 200 {
					t.Errorf("another's call = %d %s, %v", code, text, err)
					return
				}
				mu.Lock()
				took = append(took, time.Since(begun))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(took) == 0 {
		t.Fatal("nothing was measured")
	}
	slices.Sort(took)
	return took
}
