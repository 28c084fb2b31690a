package crewcli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/crew"
	"github.com/bossman-dev/bossman/crew/agent"
	"github.com/bossman-dev/bossman/internal/console"
)

// A display shows what a crew does: a line for each thing that happens, and below them, on a
// terminal, what each slot does now.
type display struct {
	out   *console.Console
	live  *console.Live
	slot  int  // how wide the names of slots are
	width int  // of the names of agents
	lands bool // a lander runs beside the crew

	mu    sync.Mutex
	slots []*view
	title int // how wide titles are, at most
	count map[crew.EventKind]int
	fates map[board.ID]crew.EventKind // of tasks that the lander has seen to, since they were begun
}

// A view is a slot as the display shows it.
type view struct {
	name  string
	agent string
	task  string
	title string
	since time.Time
	said  string
	asks  string // what question it waits for, and since when
	asked time.Time
	rests string // why it takes no task, if it takes none
	over  bool
}

// newDisplay returns a display for slots with these agents, and for slots that review.
func newDisplay(out *console.Console, agents, reviewers []agent.Agent) *display {
	d := &display{out: out, live: out.Live(), count: map[crew.EventKind]int{}, fates: map[board.ID]crew.EventKind{}, slot: 7}
	if len(reviewers) > 0 {
		d.slot = len("review-1")
	}
	for _, a := range slices.Concat(agents, reviewers) {
		d.width = min(maxAgent, max(d.width, console.TextWidth(console.OneLine(a.Name()))))
	}
	return d
}

// maxAgent bounds how much of an agent's name is shown, in columns.
const maxAgent = 12

// who is a slot and its agent, in columns.
func (d *display) who(slot, name string) string {
	name = console.Truncate(console.OneLine(name), d.width)
	return fmt.Sprintf("%-*s  %s%s  ", d.slot, slot, name, strings.Repeat(" ", max(0, d.width-console.TextWidth(name))))
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

// line writes a line about what happened in a slot.
func (d *display) line(slot, agent string, style console.Style, text string) {
	who := time.Now().Format("15:04:05") + "  " + d.who(slot, agent)
	width := 0
	if d.live.Terminal() {
		width = d.live.Width()
	}
	for n, text := range logLines(who, text, width) {
		if n > 0 {
			who = strings.Repeat(" ", console.TextWidth(who))
		}
		d.live.Infof("%s", d.out.Styled(console.Dim, who)+d.out.Styled(style, text))
	}
}

// logLines breaks a text into lines that fit behind who into a width; 0 is no limit.
func logLines(who, text string, width int) []string {
	text = console.OneLine(text)
	if width == 0 {
		return []string{text}
	}
	return console.WrapLines(text, max(21, width-console.TextWidth(who)))
}

// event shows what happened.
func (d *display) event(e crew.Event) {
	e = d.overtaken(e)
	if line := d.take(e); line != "" {
		d.line(cmp.Or(e.Slot, "work"), e.Agent, colours[e.Kind], line)
	}
	if e.Kind != crew.Said { // what agents say is shown with the next tick
		d.draw()
	}
}

// overtaken returns an event as it is now. A slot sees to its worktree before it says that a task waits to be landed: the
// lander may have landed that by then, and have said so.
func (d *display) overtaken(e crew.Event) crew.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	fate, ok := d.fates[e.Task]
	switch {
	case e.Kind == crew.Began:
		delete(d.fates, e.Task)
	case ok && e.Kind == crew.Landing:
		e.Kind = fate
		if fate == crew.Done {
			e.Text = "it has landed"
		}
	}
	return e
}

// seenTo notes what a lander has done with a task.
func (d *display) seenTo(id board.ID, fate crew.EventKind) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fates[id] = fate
}

// take notes an event, and returns the line for it, if there is one.
func (d *display) take(e crew.Event) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	v := d.view(e.Slot)
	v.agent = e.Agent
	switch e.Kind {
	case crew.Waiting:
		*v = view{name: v.name, agent: v.agent, since: time.Now(), rests: e.Text}
	case crew.Over:
		*v = view{name: v.name, agent: v.agent, over: true}
	case crew.Said:
		if v.said = e.Text; time.Since(v.asked) > askSettles {
			v.asks = ""
		}
	case crew.Asked:
		id, _, _ := strings.Cut(e.Text, ":")
		v.asks, v.asked = "waits for your answer: "+id, time.Now()
		first, more, _ := strings.Cut(e.Text, "\n")
		if more != "" {
			first += " …"
		}
		return fmt.Sprintf("%v asks %s", e.Task, first)
	case crew.Trouble:
		return e.Text
	case crew.Answering:
		*v = view{name: v.name, agent: v.agent, task: e.Text, title: e.Title, since: time.Now()}
		return fmt.Sprintf("%s: %s", e.Text, e.Title)
	case crew.Answered:
		return "answered " + e.Text
	case crew.Rests:
		*v = view{name: v.name, agent: v.agent, since: time.Now(), rests: e.Text}
		return e.Text
	case crew.Began:
		*v = view{name: v.name, agent: v.agent, task: e.Task.String(), title: e.Title, since: time.Now()}
		return fmt.Sprintf("%v begins: %s", e.Task, e.Title) + asWorker(e.Worker)
	case crew.Reviewing:
		*v = view{name: v.name, agent: v.agent, task: e.Task.String(), title: e.Title, since: time.Now()}
		return fmt.Sprintf("reviews %v: %s", e.Task, e.Title)
	case crew.Accepted, crew.Rejected, crew.Skipped:
		d.count[e.Kind]++
		*v = view{name: v.name, agent: v.agent, since: time.Now()}
		return withText(words[e.Kind]+" "+e.Task.String(), e.Text)
	case crew.Resumed:
		return fmt.Sprintf("%v goes on from %s", e.Task, e.Text)
	default:
		d.count[e.Kind]++
		*v = view{name: v.name, agent: v.agent, since: time.Now()}
		return withText(fmt.Sprintf("%v %s", e.Task, words[e.Kind]), e.Text)
	}
	return ""
}

// askSettles is how long after a question what its agent says may still be about the question.
const askSettles = 2 * time.Second

// asWorker names a worker, so that people can stop it.
func asWorker(name string) string {
	if name == "" {
		return ""
	}
	return " (" + name + ")"
}

// withText adds a text to a line, if there is one.
func withText(line, text string) string {
	if text == "" {
		return line
	}
	return line + ": " + text
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
	d.live.Set(d.block(d.live.Width(), time.Now()))
}

// block is what draw draws: lines that are at most so wide.
func (d *display) block(width int, now time.Time) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	taskWidth := 0
	for _, v := range d.slots {
		taskWidth, d.title = max(taskWidth, len(v.task)), max(d.title, console.TextWidth(console.OneLine(v.title)))
	}
	titleWidth := min(d.title, max(16, width/3))
	head := ""
	if totals := d.totals(); totals != "" {
		head = console.Truncate("── "+totals+" ", width)
	}
	lines := []string{d.out.Styled(console.Dim, head+strings.Repeat("─", max(0, width-utf8.RuneCountInString(head))))}
	for _, v := range d.slots {
		line, room := "", width
		add := func(style console.Style, text string) {
			text = console.Truncate(text, room)
			line, room = line+d.out.Styled(style, text), room-console.TextWidth(text)
		}
		switch who := d.who(v.name, v.agent); {
		case v.over:
			add(console.Dim, who+"has ended")
		case v.task == "" && v.rests != "":
			add(console.Dim, who+console.OneLine(v.rests))
		case v.task == "":
			add(console.Dim, who+"waits for a task")
		default:
			add("", who)
			add(console.Cyan, fmt.Sprintf("%-*s", taskWidth, v.task))
			if v.asks != "" && room < titleWidth+14+console.TextWidth(v.asks) { // people have to see it on a narrow terminal, too
				add(console.Yellow, "  "+console.OneLine(v.asks))
				break
			}
			title := console.Truncate(console.OneLine(v.title), titleWidth)
			add("", fmt.Sprintf("  %s%s  %8s  ", title, strings.Repeat(" ", max(0, titleWidth-console.TextWidth(title))), board.Span(now.Sub(v.since).Truncate(time.Second))))
			if v.asks != "" {
				add(console.Yellow, console.OneLine(v.asks))
			} else if v.said != "" {
				add(console.Dim, "| "+console.OneLine(v.said)) // so that it does not look like our own words
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// words say how a job ended, and numbers how many did. colours are those of the lines.
var (
	colours = map[crew.EventKind]console.Style{
		crew.Done: console.Green, crew.Answered: console.Green, crew.Accepted: console.Green, crew.Rejected: console.Yellow, crew.Resumed: console.Cyan, crew.Asked: console.Yellow, crew.Rests: console.Yellow, crew.Review: console.Yellow, crew.Landing: console.Cyan, crew.Parked: console.Yellow,
		crew.Failed: console.Red, crew.SentBack: console.Red, crew.Lost: console.Red, crew.Untold: console.Red, crew.Trouble: console.Red,
	}
	words = map[crew.EventKind]string{
		crew.Accepted: "accepted", crew.Rejected: "rejected", crew.Skipped: "gives back the review of",
		crew.Done: "is done", crew.Review: "waits for a review", crew.Landing: "waits to be landed", crew.Failed: "failed", crew.SentBack: "goes back to its task", crew.Parked: "waits for an answer", crew.Lost: "was taken away", crew.Untold: "has ended, and the board could not be told", crew.Returned: "is given back", crew.NotNow: "is given back by its agent",
	}
	numbers = map[crew.EventKind]string{
		crew.Accepted: "accepted in a review", crew.Rejected: "rejected in a review",
		crew.Done: "done", crew.Review: "waiting for a review", crew.Landing: "waiting to be landed", crew.SentBack: "sent back", crew.Parked: "waiting for an answer", crew.Lost: "taken away", crew.Untold: "not told to the board", crew.Returned: "given back", crew.NotNow: "given back by the agent",
	}
)

// totals says how many jobs ended in which way, empty if none has.
func (d *display) totals() string {
	var list []string
	for _, k := range []crew.EventKind{crew.Done, crew.Review, crew.Landing, crew.Failed, crew.SentBack, crew.Parked, crew.Lost, crew.Untold, crew.Returned, crew.NotNow, crew.Accepted, crew.Rejected, crew.Skipped} {
		n := d.count[k]
		switch {
		case n > 0 && k == crew.Failed: // of tasks that may be done since then
			list = append(list, console.Count(n, "attempt")+" failed")
		case n > 0 && k == crew.Skipped:
			list = append(list, console.Count(n, "review")+" given back")
		case n > 0:
			list = append(list, fmt.Sprintf("%d %s", n, numbers[k]))
		}
	}
	return strings.Join(list, " · ")
}

// maxWhy is how many columns of why a task has failed are shown at the end.
const maxWhy = 300

// end shows what came of it all, and how many tasks wait for people.
func (d *display) end(results []crew.Result, waiting int) {
	d.live.Clear()
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case waiting == 1:
		defer d.out.Infof("1 task waits for an answer: bossman inbox")
	case waiting > 1:
		defer d.out.Infof("%d tasks wait for an answer: bossman inbox", waiting)
	}
	if len(results) == 0 {
		d.out.Infof("No task was worked on.")
		return
	}
	clear(d.count)
	for _, r := range results {
		d.count[r.Kind]++
	}
	d.out.Infof("%s", d.totals())
	switch {
	case d.count[crew.Landing] > 0 && d.lands:
		d.out.Infof("  to see why it waits: bossman land status")
	case d.count[crew.Landing] > 0:
		d.out.Infof("  to land it: bossman land")
	}
	for _, r := range results {
		if r.Merge != "" {
			d.out.Infof("  %v  %s", r.Task, r.Merge)
		}
	}
	for _, r := range results {
		if r.Over {
			d.out.Infof("  %v  has failed: bossman task retry %v", r.Task, r.Task)
			if why := console.Truncate(console.OneLine(r.Why), maxWhy); why != "" {
				d.out.Infof("    %s", why)
			}
		}
	}
}
