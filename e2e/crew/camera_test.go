package crew

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bossman-dev/bossman/e2e/internal/screen"
)

// The terminal that is filmed, and its panes: the crew above, and the person below.
const (
	columns, rows  = 100, 33
	crewPane       = 0
	person         = 1
	personRows     = 12
	framesEvery    = 100 * time.Millisecond
	keysEvery      = 45 * time.Millisecond
	pauseAtTheEnd  = 6 * time.Second
	cameraPatience = 2 * time.Minute
)

// A camera films a terminal of tmux.
type camera struct {
	socket string
	host   *regexp.Regexp // the name of this machine, which is not shown
	env    []string
	began  time.Time
	end    context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	film   screen.Film
	active int       // the pane with the cursor
	zoomed bool      // the active pane is all that is seen
	panes  [2]string // what they show
	err    error
}

// camera starts a terminal in the office, and films it.
func (d *demo) camera(t *testing.T) *camera {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Fatal("the film needs tmux")
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c := &camera{socket: "bossman-demo-" + strconv.Itoa(os.Getpid()), host: regexp.MustCompile(`\b` + regexp.QuoteMeta(host) + `\b`), end: cancel, active: person}
	for _, v := range d.runner(t, ctx).Env {
		if name, _, _ := strings.Cut(v, "="); !slices.Contains([]string{"NO_COLOR", "CI", programVariable, lingeringVariable}, name) {
			c.env = append(c.env, v)
		}
	}
	c.env = append(c.env, "TERM=xterm-256color", "BOSSMAN_PERSON=1", "HISTFILE=/dev/null", `PS1=\[\e[1;36m\]$\[\e[0m\] `)
	shell := []string{"bash", "--norc", "--noprofile"}
	c.tmux(t, append([]string{"-f", "/dev/null", "new-session", "-d", "-s", "demo", "-c", d.dir, "-x", strconv.Itoa(columns), "-y", strconv.Itoa(rows)}, shell...)...)
	t.Cleanup(func() {
		cancel()
		c.wg.Wait()
		_ = c.command(context.WithoutCancel(ctx), "kill-server").Run()
	})
	c.tmux(t, "set", "-g", "status", "off")
	c.tmux(t, append([]string{"split-window", "-v", "-l", strconv.Itoa(personRows), "-t", "demo:0", "-c", d.dir}, shell...)...)
	c.began = time.Now()
	c.wg.Go(func() {
		for tick := time.Tick(framesEvery); ; {
			c.shoot(ctx)
			select {
			case <-tick:
			case <-ctx.Done():
				return
			}
		}
	})
	c.await(t, crewPane, "$")
	c.await(t, person, "$")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.began, c.film = time.Now(), screen.Film{Columns: columns, Rows: rows, Title: "Bossman: four agents, one board", Pause: pauseAtTheEnd}
	return c
}

func (c *camera) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "tmux", append([]string{"-L", c.socket}, args...)...)
	cmd.Env = c.env
	return cmd
}

// tmux runs a command of tmux.
func (c *camera) tmux(t *testing.T, args ...string) {
	t.Helper()
	if out, err := c.command(t.Context(), args...).CombinedOutput(); err != nil {
		t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
}

// shoot takes a frame.
func (c *camera) shoot(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var args []string
	for pane := range c.panes {
		args = append(args, "capture-pane", "-p", "-e", "-t", fmt.Sprintf("demo:0.%d", pane), ";")
	}
	args = append(args, "display-message", "-p", "-t", fmt.Sprintf("demo:0.%d", c.active), "#{cursor_x} #{cursor_y} #{pane_height}")
	out, err := c.command(ctx, args...).Output()
	if err != nil {
		if ctx.Err() == nil {
			c.err = err
		}
		return
	}
	lines := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	var x, y, height int
	if _, err := fmt.Sscan(lines[len(lines)-1], &x, &y, &height); err != nil {
		c.err = err
		return
	}
	lines = lines[:len(lines)-1]
	above := rows - personRows - 1
	begin := 0
	if c.active == person {
		begin = len(lines) - height
	}
	if row := &lines[begin+y]; utf8.RuneCountInString(plain(*row)) <= x {
		*row += strings.Repeat(" ", x-utf8.RuneCountInString(plain(*row))) + "\x1b[0;2m█"
	}
	c.panes[crewPane], c.panes[person] = strings.Join(lines[:above], "\n"), strings.Join(lines[above:], "\n")
	text := c.panes[crewPane] + "\n\x1b[0;2m" + strings.Repeat("─", columns) + "\x1b[0m\n" + c.panes[person]
	if c.zoomed {
		text = c.panes[c.active]
	}
	c.film.Show(time.Since(c.began), c.host.ReplaceAllString(text, "laptop"))
}

// plain is text without escape sequences.
func plain(text string) string {
	var b strings.Builder
	for text != "" {
		before, after, _ := strings.Cut(text, "\x1b[")
		b.WriteString(before)
		_, text, _ = strings.Cut(after, "m")
	}
	return b.String()
}

// await waits until a pane shows a text.
func (c *camera) await(t *testing.T, pane int, text string) {
	t.Helper()
	for end := time.Now().Add(cameraPatience); ; time.Sleep(framesEvery / 2) {
		c.mu.Lock()
		shown, err := plain(c.panes[pane]), c.err
		c.mu.Unlock()
		if strings.Contains(shown, text) {
			return
		}
		if err != nil || time.Now().After(end) {
			t.Fatalf("the terminal does not show %q: %v\n%s", text, err, shown)
		}
	}
}

// rest lets those who watch read.
func (c *camera) rest(d time.Duration) { time.Sleep(d) }

// enter types a command.
func (c *camera) enter(t *testing.T, pane int, text string) {
	t.Helper()
	c.mu.Lock()
	c.active = pane
	c.mu.Unlock()
	target := fmt.Sprintf("demo:0.%d", pane)
	for _, key := range text {
		c.tmux(t, "send-keys", "-l", "-t", target, "--", string(key))
		time.Sleep(keysEvery)
	}
	time.Sleep(4 * keysEvery)
	c.tmux(t, "send-keys", "-t", target, "Enter")
	time.Sleep(2 * framesEvery)
}

// clear clears a pane.
func (c *camera) clear(t *testing.T, pane int) {
	t.Helper()
	c.tmux(t, "send-keys", "-t", fmt.Sprintf("demo:0.%d", pane), "C-l")
}

// zoom lets a pane fill the terminal.
func (c *camera) zoom(t *testing.T, pane int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tmux(t, "resize-pane", "-Z", "-t", fmt.Sprintf("demo:0.%d", pane))
	c.active, c.zoomed = pane, true
}

// stop ends filming.
func (c *camera) stop(t *testing.T) *screen.Film {
	t.Helper()
	c.end()
	c.wg.Wait()
	if c.err != nil {
		t.Fatal(c.err)
	}
	return &c.film
}
