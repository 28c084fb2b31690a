package crew

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// What a crew may take that has nothing to do: of one core, and of memory.
const (
	maxIdleCPU    = 0.01
	maxIdleMemory = 60 << 20
)

// TestIdle: a crew without work asks no model anything and takes next to nothing. It looks for
// BOSSMAN_E2E_IDLE, by default ten seconds.
func TestIdle(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what processes take is read from /proc")
	}
	d := 10 * time.Second
	if text := os.Getenv("BOSSMAN_E2E_IDLE"); text != "" {
		var err error
		if d, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	o := newOffice(t, harness.Home(t), available(t, form{agents: small.agents}))
	cmd := o.runner(t, t.Context(), "-n", "4")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	out, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			t.Log(s.Text())
			lines <- s.Text()
		}
	}()
	select {
	case <-lines:
	case <-time.After(harness.Bound(10 * time.Second)):
		t.Fatal("bossman work says nothing")
	}
	before, _ := taken(o.home)
	begun := time.Now()
	ended, stop := context.WithTimeout(t.Context(), d)
	defer stop()
	<-ended.Done()
	after, memory := taken(o.home)
	share := (after - before).Seconds() / time.Since(begun).Seconds()
	t.Logf("%v idle with 4 slots: %.2f %% of a core, %.1f MB", d, 100*share, float64(memory)/(1<<20))
	if after == 0 || memory == 0 || share > harness.Bound(time.Second).Seconds()*maxIdleCPU || memory > maxIdleMemory {
		t.Errorf("an idle crew takes %.2f %% of a core and %d bytes; want at most %.0f %% and %d", 100*share, memory, 100*maxIdleCPU, maxIdleMemory)
	}
	o.mu.Lock()
	if len(o.strays) > 0 {
		t.Errorf("an idle crew asked the model: %q", o.strays)
	}
	o.mu.Unlock()
	if len(o.plan.jobs) > 0 {
		t.Errorf("an idle crew has %d jobs", len(o.plan.jobs))
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	for range lines { // until it has ended
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("bossman work ended with %v", err)
	}
}

// taken is the time on a processor and the memory of all processes of an office.
func taken(home string) (cpu time.Duration, memory int64) {
	for _, p := range processes() {
		if !p.mentions(home) {
			continue
		}
		dir := filepath.Join("/proc", strconv.Itoa(p.pid))
		stat, _ := os.ReadFile(filepath.Join(dir, "stat"))
		_, rest, _ := strings.Cut(string(stat), ") ")
		if f := strings.Fields(rest); len(f) > 13 {
			for _, ticks := range f[11:13] { // utime and stime, a hundredth of a second each
				n, _ := strconv.Atoi(ticks)
				cpu += time.Duration(n) * 10 * time.Millisecond
			}
		}
		statm, _ := os.ReadFile(filepath.Join(dir, "statm"))
		if f := strings.Fields(string(statm)); len(f) > 1 {
			pages, _ := strconv.ParseInt(f[1], 10, 64)
			memory += pages * int64(os.Getpagesize())
		}
	}
	return cpu, memory
}
