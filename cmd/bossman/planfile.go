package main

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// readPlan reads a plan: JSON if it begins like it, else a Markdown checklist.
func readPlan(text []byte) (board.Plan, error) {
	if start := bytes.TrimSpace(text); len(start) > 0 && (start[0] == '{' || start[0] == '[') {
		return readPlanJSON(start)
	}
	return readPlanMarkdown(string(text))
}

// planJSON is what the tool create_plan takes.
type planJSON struct {
	Tasks  []planTaskJSON `json:"tasks"`
	Goal   string         `json:"goal"`
	Hold   bool           `json:"hold"`
	DryRun bool           `json:"dry_run"`
	Key    string         `json:"idempotency_key"`
}

type planTaskJSON struct {
	Key         string `json:"key"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Acceptance  string `json:"acceptance"`
	After       texts  `json:"after"`
	Priority    string `json:"priority"`
	Parent      string `json:"parent"`
	Areas       texts  `json:"areas"`
	Skills      texts  `json:"skills"`
	Evidence    texts  `json:"evidence"`
	Hold        bool   `json:"hold"`
}

// texts is an array, or one text with commas.
type texts []string

func (t *texts) UnmarshalJSONFrom(d *jsontext.Decoder) error {
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

func readPlanJSON(text []byte) (board.Plan, error) {
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
	plan := board.Plan{Goal: in.Goal, Hold: in.Hold, DryRun: in.DryRun, Key: in.Key}
	for i, t := range in.Tasks {
		if t.Key == "" {
			t.Key = strconv.Itoa(i + 1)
		}
		task, err := t.task()
		if err != nil {
			return plan, fmt.Errorf("task %q: %w", t.Key, err)
		}
		plan.Tasks = append(plan.Tasks, task)
	}
	return plan, nil
}

func (t planTaskJSON) task() (board.PlanTask, error) {
	out := board.PlanTask{Key: t.Key, After: t.After, Within: t.Parent, NewTask: board.NewTask{
		Title: t.Title, Description: t.Description, Acceptance: t.Acceptance, Priority: board.Normal, Areas: t.Areas, Skills: t.Skills,
		Wants: kinds(t.Evidence), Hold: t.Hold,
	}}
	if t.Priority == "" {
		return out, nil
	}
	var err error
	out.Priority, err = board.ParsePriority(strings.ToLower(t.Priority))
	return out, err
}

var (
	// An item: its indent, the tick, the text.
	planItem = regexp.MustCompile(`^(\s*)(?:[-*+]|\d+[.)])\s+\[([ xX])\]\s+(.+?)\s*$`)
	planTail = regexp.MustCompile(`^(.*?)\s*\{\s*((?:key|after|priority|skills?|areas?|evidence|acceptance|hold)\s*:[^{}]*)\}$`)
	planHead = regexp.MustCompile(`^#+\s+(.+?)\s*#*$`)
)

// readPlanMarkdown reads a checklist. An item below another, further to the right,
// is a part of it; other lines below an item are its description.
func readPlanMarkdown(text string) (board.Plan, error) {
	var plan board.Plan
	type open struct {
		indent int
		key    string
	}
	var above []open
	done := map[string]bool{}
	var task *planTaskJSON
	var tasks []*planTaskJSON
	ticked := false
	no := 0
	for l := range strings.Lines(text) {
		l = strings.ReplaceAll(strings.TrimRight(l, "\r\n"), "\t", "    ")
		m := planItem.FindStringSubmatch(l)
		if m == nil {
			head := planHead.FindStringSubmatch(l)
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
		next := &planTaskJSON{Key: strconv.Itoa(no), Title: m[3]}
		if err := next.tail(); err != nil {
			return plan, fmt.Errorf("task %d: %w", no, err)
		}
		indent := len(m[1])
		for len(above) > 0 && above[len(above)-1].indent >= indent {
			above = above[:len(above)-1]
		}
		if len(above) > 0 {
			next.Parent = above[len(above)-1].key
		}
		above = append(above, open{indent, next.Key})
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
		var after texts
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
		plan.Tasks = append(plan.Tasks, one)
	}
	if len(plan.Tasks) == 0 {
		return plan, errors.New("every task in it is ticked")
	}
	return plan, nil
}

// tail takes what stands between braces at the end of the title.
func (t *planTaskJSON) tail() error {
	m := planTail.FindStringSubmatch(t.Title)
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
			t.Key = value
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
		case "hold":
			hold, err := strconv.ParseBool(value)
			if err != nil {
				return fmt.Errorf("hold is true or false, not %q", value)
			}
			t.Hold = hold
		default:
			return fmt.Errorf("there is no %q between braces", name)
		}
	}
	return nil
}
