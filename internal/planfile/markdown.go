package planfile

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bossman-dev/bossman/board"
)

// These match in one pass, which takes a fraction of the time that a lazy .*? takes.
var (
	// itemLine is an item of a checklist: its indent, the tick, and the text with spaces around it.
	itemLine = regexp.MustCompile(`^(\s*)(?:[-*+]|\d+[.)])\s+\[([ xX])\]\s(.+)$`)
	// braces are the settings at the end of a title.
	braces = regexp.MustCompile(`^\{\s*((?:key|after|priority|skills?|areas?|evidence|acceptance|draft)\s*:[^{}]*)\}$`)
	// heading is a heading of any level: the text with spaces and # around it.
	heading = regexp.MustCompile(`^#+\s(.+)$`)
)

// spaces are those of \s in a regular expression.
const spaces = "\t\n\f\r "

// trimmed returns a text without spaces around it. Of spaces alone the last one is left.
func trimmed(text string) string {
	return cmp.Or(strings.Trim(text, spaces), text[len(text)-1:])
}

// A description collects the lines below an item, without empty ones at the beginning and the
// end.
type description struct {
	text  strings.Builder
	empty int // how many empty lines came last
}

func (d *description) add(line string) error {
	line = strings.TrimSpace(line)
	if line == "" {
		d.empty++
		return nil
	}
	breaks := 0
	if d.text.Len() > 0 {
		breaks = d.empty + 1
	}
	if err := checkDescription(d.text.Len() + breaks + len(line)); err != nil {
		return err
	}
	for range breaks {
		d.text.WriteByte('\n')
	}
	d.text.WriteString(line)
	d.empty = 0
	return nil
}

// A checklist is what was read of a plan in Markdown.
type checklist struct {
	goal  string
	root  itemPath // that of the goal
	items int
	names itemNames
	above []openItem // the last item, and those that it is a part of
	done  map[string]bool
	tasks []*listed
	last  *listed // the task that the next lines describe, or nil
}

// An openItem is an item that a later one may be a part of.
type openItem struct {
	indent int
	key    string
	path   itemPath
}

// listed is an item that is not ticked.
type listed struct {
	taskJSON
	item  string
	about description
}

// parseMarkdown reads a checklist. An item that is indented below another is a part of it;
// other lines below an item are its description.
func parseMarkdown(text string) (board.Plan, error) {
	c := checklist{done: map[string]bool{}}
	n := 0
	for line := range strings.Lines(text) {
		n++
		if err := c.read(strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    ")); err != nil {
			return board.Plan{}, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return c.plan()
}

// read reads a line.
func (c *checklist) read(line string) error {
	if m := itemLine.FindStringSubmatch(line); m != nil {
		return c.add(len(m[1]), m[2] != " ", trimmed(m[3]))
	}
	head := heading.FindStringSubmatch(line)
	switch {
	case head != nil && c.items == 0 && c.goal == "":
		title := cmp.Or(strings.TrimLeft(head[1], spaces), trimmed(head[1]))
		c.goal = cmp.Or(strings.TrimRight(strings.TrimRight(title, "#"), spaces), title[:1])
	case head != nil:
		c.last = nil
	case c.last != nil:
		return c.last.about.add(line)
	}
	return nil
}

// add adds an item.
func (c *checklist) add(indent int, ticked bool, title string) error {
	c.items++
	next := &listed{taskJSON: taskJSON{Key: strconv.Itoa(c.items), Title: title}}
	if err := next.readBraces(); err != nil {
		return err
	}
	for len(c.above) > 0 && c.above[len(c.above)-1].indent >= indent {
		c.above = c.above[:len(c.above)-1]
	}
	if c.items == 1 {
		c.root = goalPath(c.goal) // which no later line changes
	}
	up := openItem{path: c.root}
	if len(c.above) > 0 {
		up = c.above[len(c.above)-1]
	}
	next.Parent = up.key
	path := up.path.below(next.Title)
	c.above = append(c.above, openItem{indent, next.Key, path})
	next.item = c.names.name(path)
	c.last = nil
	if ticked {
		c.done[next.Key] = true
		return nil
	}
	if len(c.tasks) == board.MaxPlan {
		return errTooMany
	}
	c.tasks = append(c.tasks, next)
	c.last = next
	return checkTitle(next.Title)
}

// plan returns what was read as a plan.
func (c *checklist) plan() (board.Plan, error) {
	plan := board.Plan{Goal: c.goal}
	if c.items == 0 {
		return plan, errors.New("there is no line such as “- [ ] What is to be done”")
	}
	for _, t := range c.tasks {
		t.Description = t.about.text.String()
		t.After = slices.DeleteFunc(t.After, func(key string) bool { return c.done[key] })
		if c.done[t.Parent] {
			t.Parent = ""
		}
		one, err := t.task()
		if err != nil {
			return plan, fmt.Errorf("task %q: %w", t.Title, err)
		}
		one.Item = t.item
		plan.Tasks = append(plan.Tasks, one)
	}
	if len(plan.Tasks) == 0 {
		return plan, errors.New("every task in it is ticked")
	}
	return plan, nil
}

// readBraces moves the settings in braces at the end of the title into their fields.
func (t *taskJSON) readBraces() error {
	from := strings.LastIndexByte(t.Title, '{')
	if from < 0 {
		return nil
	}
	m := braces.FindStringSubmatch(t.Title[from:])
	if m == nil {
		return nil
	}
	t.Title = strings.TrimRight(t.Title[:from], spaces)
	name := ""
	var acceptance strings.Builder
	for part := range strings.SplitSeq(m[1], ",") {
		value := strings.TrimSpace(part)
		if k, v, ok := strings.Cut(part, ":"); ok {
			name, value = strings.TrimSpace(k), strings.TrimSpace(v)
		}
		switch name {
		case "key":
			t.Key = cmp.Or(value, t.Key)
		case "after":
			t.After = append(t.After, strings.Fields(value)...)
		case "priority":
			t.Priority = value
		case "skill", "skills":
			t.Skills = append(t.Skills, strings.Fields(value)...)
		case "area", "areas":
			t.Areas = append(t.Areas, strings.Fields(value)...)
		case "evidence":
			t.Evidence = append(t.Evidence, strings.Fields(value)...)
		case "acceptance":
			if acceptance.Len() > 0 {
				acceptance.WriteString(", ")
			}
			acceptance.WriteString(value)
		case "draft":
			draft, err := strconv.ParseBool(value)
			if err != nil {
				return fmt.Errorf("draft is true or false, not %.40q", value)
			}
			t.Draft = draft
		default:
			return fmt.Errorf("there is no %.40q between braces", name)
		}
	}
	t.Acceptance = acceptance.String()
	return nil
}
