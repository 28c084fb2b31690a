package crewcli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/crew"
	"github.com/bossman-dev/bossman/internal/console"
)

// A display shows what a crew does: a line for each thing that happens, and below them, on a
// terminal, what each slot does now.
type display struct {
	out  *console.Console
	live *console.Live

	mu    sync.Mutex
	slots []*view
	count map[crew.EventKind]int
}

// A view is a slot as the display shows it.
type view struct {
	name  string
	task  string
	title string
	since time.Time
	said  string
	over  bool
}

func newDisplay(out *console.Console) *display {
	return &display{out: out, live: out.Live(), count: map[crew.EventKind]int{}}
}

// run keeps the times that are shown up to date until ctx ends.
func (d *display) run(ctx context.Context) {
	defer d.live.Clear()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for d.live.Terminal() {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			d.draw()
		}
	}
}

// notice shows a line of ours.
func (d *display) notice(text string) { d.live.Infof("%s", text) }

// event shows what happened.
func (d *display) event(e crew.Event) {
	if line := d.take(e); line != "" {
		who := e.Slot
		if who == "" {
			who = "work"
		}
		line = fmt.Sprintf("%s  %-7s  %s", time.Now().Format("15:04:05"), who, console.OneLine(line))
		if d.live.Terminal() {
			line = console.Truncate(line, d.live.Width())
		}
		d.live.Infof("%s", line)
	}
	if e.Kind != crew.Said { // what agents say is shown with the next tick
		d.draw()
	}
}

// take notes an event, and returns the line for it, if there is one.
func (d *display) take(e crew.Event) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	v := d.view(e.Slot)
	switch e.Kind {
	case crew.Waiting:
		*v = view{name: v.name, since: time.Now()}
	case crew.Over:
		*v = view{name: v.name, over: true}
	case crew.Said:
		v.said = e.Text
	case crew.Asked:
		v.said = "waits for an answer"
		return fmt.Sprintf("%v asks %s", e.Task, e.Text)
	case crew.Trouble:
		return e.Text
	case crew.Began:
		*v = view{name: v.name, task: e.Task.String(), title: e.Title, since: time.Now()}
		return fmt.Sprintf("%v begins: %s", e.Task, e.Title)
	default:
		d.count[e.Kind]++
		*v = view{name: v.name, since: time.Now()}
		line := fmt.Sprintf("%v %s", e.Task, words[e.Kind])
		if e.Text != "" {
			line += ": " + e.Text
		}
		return line
	}
	return ""
}

// view is the view of a slot.
func (d *display) view(name string) *view {
	for _, v := range d.slots {
		if v.name == name {
			return v
		}
	}
	v := &view{name: name, since: time.Now()}
	if name != "" {
		d.slots = append(d.slots, v)
		slices.SortFunc(d.slots, func(a, b *view) int {
			return cmp.Or(cmp.Compare(len(a.name), len(b.name)), cmp.Compare(a.name, b.name)) // slot-10 after slot-9
		})
	}
	return v
}

// draw draws what each slot does now.
func (d *display) draw() {
	if !d.live.Terminal() {
		return
	}
	d.mu.Lock()
	width, now := d.live.Width(), time.Now()
	taskWidth, titleWidth := 0, 0
	for _, v := range d.slots {
		taskWidth, titleWidth = max(taskWidth, len(v.task)), max(titleWidth, console.TextWidth(console.OneLine(v.title)))
	}
	titleWidth = min(titleWidth, max(16, width/3))
	head := "── " + d.totals() + " "
	if head == "──  " {
		head = ""
	}
	lines := []string{d.out.Styled(console.Dim, head+strings.Repeat("─", max(0, width-console.TextWidth(head))))}
	for _, v := range d.slots {
		line := fmt.Sprintf("%-7s  ", v.name)
		switch {
		case v.over:
			line = d.out.Styled(console.Dim, line+"has ended")
		case v.task == "":
			line = d.out.Styled(console.Dim, line+"waits for a task")
		default:
			title := console.Truncate(console.OneLine(v.title), titleWidth)
			line += fmt.Sprintf("%-*s  %s%s  %7s  ", taskWidth, v.task, title, strings.Repeat(" ", max(0, titleWidth-console.TextWidth(title))), board.Span(now.Sub(v.since).Truncate(time.Second)))
			line += d.out.Styled(console.Dim, console.Truncate(console.OneLine(v.said), max(1, width-console.TextWidth(line))))
		}
		lines = append(lines, line)
	}
	d.mu.Unlock()
	d.live.Set(lines)
}

// words say how a job ended, and numbers how many did.
var (
	words = map[crew.EventKind]string{
		crew.Done: "is done", crew.Review: "waits for a review", crew.Failed: "failed", crew.Parked: "waits for an answer", crew.Lost: "was taken away", crew.Returned: "is given back",
	}
	numbers = map[crew.EventKind]string{
		crew.Done: "done", crew.Review: "waiting for a review", crew.Failed: "failed", crew.Parked: "waiting for an answer", crew.Lost: "taken away", crew.Returned: "given back",
	}
)

// totals says how many jobs ended in which way, empty if none has.
func (d *display) totals() string {
	var list []string
	for _, k := range []crew.EventKind{crew.Done, crew.Review, crew.Failed, crew.Parked, crew.Lost, crew.Returned} {
		if n := d.count[k]; n > 0 {
			list = append(list, fmt.Sprintf("%d %s", n, numbers[k]))
		}
	}
	return strings.Join(list, " · ")
}

// end shows what came of it all.
func (d *display) end(results []crew.Result) {
	d.live.Clear()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(results) == 0 {
		d.out.Infof("No task was worked on.")
		return
	}
	d.out.Infof("%s", d.totals())
	for _, r := range results {
		if r.Kind == crew.Done && r.Branch != "" {
			d.out.Infof("  %v  git merge %s", r.Task, console.ShellWords(r.Branch))
		}
	}
}
