// Package planfile reads the files of `bossman task plan`: a plan as a Markdown checklist,
// or as the JSON that the tool create_plan takes.
package planfile

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Parse reads a plan. A text that starts with { or [ is JSON, any other is a Markdown
// checklist.
func Parse(text []byte) (board.Plan, error) {
	if start := bytes.TrimSpace(text); len(start) > 0 && (start[0] == '{' || start[0] == '[') {
		return parseJSON(start)
	}
	return parseMarkdown(string(text))
}

// planJSON is what the tool create_plan takes.
type planJSON struct {
	Tasks  []taskJSON `json:"tasks"`
	Goal   string     `json:"goal"`
	Draft  bool       `json:"draft"`
	DryRun bool       `json:"dry_run"`
	Key    string     `json:"idempotency_key"`
}

type taskJSON struct {
	Key         string `json:"key"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Acceptance  string `json:"acceptance"`
	After       list   `json:"after"`
	Priority    string `json:"priority"`
	Parent      string `json:"parent"`
	Areas       list   `json:"areas"`
	Skills      list   `json:"skills"`
	Evidence    list   `json:"evidence"`
	Draft       bool   `json:"draft"`
}

// list is an array, or one string with commas.
type list []string

func (t *list) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == '"' {
		var s string
		if err := json.UnmarshalDecode(d, &s); err != nil {
			return err
		}
		*t = board.SplitList(s)
		return nil
	}
	return json.UnmarshalDecode(d, (*[]string)(t))
}

func parseJSON(text []byte) (board.Plan, error) {
	var in planJSON
	var err error
	if text[0] == '[' {
		err = json.Unmarshal(text, &in.Tasks, json.RejectUnknownMembers(true))
	} else {
		err = json.Unmarshal(text, &in, json.RejectUnknownMembers(true))
	}
	if err != nil {
		return board.Plan{}, err
	}
	plan := board.Plan{Goal: in.Goal, Hold: in.Draft, DryRun: in.DryRun, Key: in.Key}
	titles := map[string]taskJSON{}
	for i := range in.Tasks {
		t := &in.Tasks[i]
		if t.Key == "" {
			t.Key = strconv.Itoa(i + 1)
		}
		titles[t.Key] = *t
	}
	items := itemNames{goal: in.Goal, seen: map[string]int{}}
	for _, t := range in.Tasks {
		task, err := t.task()
		if err != nil {
			return plan, fmt.Errorf("task %q: %w", t.Key, err)
		}
		path := []string{t.Title}
		for up, depth := titles[t.Parent], 0; up.Key != "" && depth < len(in.Tasks); up, depth = titles[up.Parent], depth+1 {
			path = append([]string{up.Title}, path...)
		}
		task.Item = items.name(path)
		plan.Tasks = append(plan.Tasks, task)
	}
	return plan, nil
}

// itemNames names the items of a plan, so that they are recognized when the file is read
// again: by the goal, and by the titles of the item and of those above it. Items with the
// same titles are counted.
type itemNames struct {
	goal string
	seen map[string]int
}

func (n *itemNames) name(path []string) string {
	text := strings.Join(append([]string{n.goal}, path...), "\x00")
	n.seen[text]++
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", text, n.seen[text]))
	return "plan:" + hex.EncodeToString(sum[:16])
}

func (t taskJSON) task() (board.PlanTask, error) {
	out := board.PlanTask{Key: t.Key, After: t.After, Within: t.Parent, NewTask: board.NewTask{
		Title: t.Title, Description: t.Description, Acceptance: t.Acceptance, Priority: board.Normal, Areas: t.Areas, Skills: t.Skills,
		Wants: EvidenceKinds(t.Evidence), Hold: t.Draft,
	}}
	if t.Priority == "" {
		return out, nil
	}
	var err error
	out.Priority, err = board.ParsePriority(strings.ToLower(t.Priority))
	return out, err
}

// EvidenceKinds reads kinds of evidence: one in each text, or several with commas, in any
// letter case.
func EvidenceKinds(list []string) []board.EvidenceKind {
	var out []board.EvidenceKind
	for _, k := range board.SplitList(list...) {
		out = append(out, board.EvidenceKind(strings.ToLower(k)))
	}
	return out
}

var (
	// itemLine is an item of a checklist: its indent, the tick, the text.
	itemLine = regexp.MustCompile(`^(\s*)(?:[-*+]|\d+[.)])\s+\[([ xX])\]\s+(.+?)\s*$`)
	// titleBraces is a title and the braces at its end.
	titleBraces = regexp.MustCompile(`^(.*?)\s*\{\s*((?:key|after|priority|skills?|areas?|evidence|acceptance|draft)\s*:[^{}]*)\}$`)
	// heading is a heading of any level.
	heading = regexp.MustCompile(`^#+\s+(.+?)\s*#*$`)
)

// parseMarkdown reads a checklist. An item that is indented below another is a part of it;
// other lines below an item are its description.
func parseMarkdown(text string) (board.Plan, error) {
	var plan board.Plan
	type open struct {
		indent int
		key    string
		path   []string // titles
	}
	var above []open
	done := map[string]bool{}
	items := itemNames{seen: map[string]int{}}
	item := map[*taskJSON]string{}
	var task *taskJSON
	var tasks []*taskJSON
	ticked := false
	no := 0
	for l := range strings.Lines(text) {
		l = strings.ReplaceAll(strings.TrimRight(l, "\r\n"), "\t", "    ")
		m := itemLine.FindStringSubmatch(l)
		if m == nil {
			head := heading.FindStringSubmatch(l)
			switch {
			case head != nil && no == 0 && plan.Goal == "":
				plan.Goal = head[1]
			case head != nil:
				task, ticked = nil, false
			case task != nil && !ticked:
				task.Description += strings.TrimSpace(l) + "\n"
			}
			continue
		}
		no++
		next := &taskJSON{Key: strconv.Itoa(no), Title: m[3]}
		if err := next.readBraces(); err != nil {
			return plan, fmt.Errorf("task %d: %w", no, err)
		}
		indent := len(m[1])
		for len(above) > 0 && above[len(above)-1].indent >= indent {
			above = above[:len(above)-1]
		}
		path := []string{next.Title}
		if len(above) > 0 {
			up := above[len(above)-1]
			next.Parent = up.key
			path = append(slices.Clone(up.path), path...)
		}
		above = append(above, open{indent, next.Key, path})
		items.goal = plan.Goal
		item[next] = items.name(path)
		task, ticked = next, m[2] != " "
		if ticked {
			done[next.Key] = true
			continue
		}
		tasks = append(tasks, next)
	}
	if no == 0 {
		return plan, errors.New("there is no line such as “- [ ] What is to be done”")
	}
	for _, t := range tasks {
		t.Description = strings.TrimSpace(t.Description)
		var after list
		for _, key := range t.After {
			if !done[key] {
				after = append(after, key)
			}
		}
		t.After = after
		if done[t.Parent] {
			t.Parent = ""
		}
		one, err := t.task()
		if err != nil {
			return plan, fmt.Errorf("task %q: %w", t.Title, err)
		}
		one.Item = item[t]
		plan.Tasks = append(plan.Tasks, one)
	}
	if len(plan.Tasks) == 0 {
		return plan, errors.New("every task in it is ticked")
	}
	return plan, nil
}

// readBraces moves the settings in braces at the end of the title into their fields.
func (t *taskJSON) readBraces() error {
	m := titleBraces.FindStringSubmatch(t.Title)
	if m == nil {
		return nil
	}
	t.Title = m[1]
	name := ""
	for part := range strings.SplitSeq(m[2], ",") {
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
			if t.Acceptance != "" {
				t.Acceptance += ", "
			}
			t.Acceptance += value
		case "draft":
			draft, err := strconv.ParseBool(value)
			if err != nil {
				return fmt.Errorf("draft is true or false, not %q", value)
			}
			t.Draft = draft
		default:
			return fmt.Errorf("there is no %q between braces", name)
		}
	}
	return nil
}
