// Package planfile reads the files of `bossman task plan`: a plan as a Markdown checklist,
// or as the JSON that the tool create_plan takes.
package planfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxFile bounds the file of a plan, in bytes.
const MaxFile = 1 << 20

var newline = []byte("\n")

// Parse reads a plan. A text that starts with { or [ is JSON, any other is a Markdown
// checklist. It takes time and memory in proportion to the text, and stops at the limits of
// the board.
func Parse(text []byte) (board.Plan, error) {
	if len(text) > MaxFile {
		return board.Plan{}, fmt.Errorf("a plan of %d bytes is too long, want at most %d", len(text), MaxFile)
	}
	if start := bytes.TrimSpace(text); len(start) > 0 && (start[0] == '{' || start[0] == '[') {
		return parseJSON(start, 1+bytes.Count(text[:bytes.Index(text, start)], newline))
	}
	return parseMarkdown(string(text))
}

// planJSON is what the tool create_plan takes.
type planJSON struct {
	Tasks  taskList `json:"tasks"`
	Goal   string   `json:"goal"`
	Draft  bool     `json:"draft"`
	DryRun bool     `json:"dry_run"`
	Key    string   `json:"idempotency_key"`
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

// taskList is the tasks of a plan.
type taskList []taskJSON

// A limitError is a task that exceeds a limit of the board. It begins after the offset.
type limitError struct {
	after int64
	err   error
}

func (e *limitError) Error() string { return e.err.Error() }
func (e *limitError) Unwrap() error { return e.err }

func (l *taskList) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '[' {
		return json.UnmarshalDecode(d, (*[]taskJSON)(l))
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != ']' {
		after := d.InputOffset()
		if len(*l) == board.MaxPlan {
			return &limitError{after, errTooMany}
		}
		var t taskJSON
		if err := json.UnmarshalDecode(d, &t); err != nil {
			return err
		}
		if err := cmp.Or(checkTitle(t.Title), checkDescription(len(strings.TrimSpace(t.Description)))); err != nil {
			return &limitError{after, err}
		}
		*l = append(*l, t)
	}
	_, err := d.ReadToken()
	return err
}

var errTooMany = fmt.Errorf("too many tasks in the plan: want at most %d; split it", board.MaxPlan)

func checkTitle(title string) error {
	if n := len(strings.TrimSpace(title)); n > board.MaxTitle {
		return fmt.Errorf("the title is too long: %d bytes, want at most %d", n, board.MaxTitle)
	}
	return nil
}

func checkDescription(n int) error {
	if n > board.MaxDescription {
		return fmt.Errorf("the description is too long: want at most %d bytes", board.MaxDescription)
	}
	return nil
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

// parseJSON reads JSON that starts on a line.
func parseJSON(text []byte, line int) (board.Plan, error) {
	var in planJSON
	var err error
	if text[0] == '[' {
		err = json.Unmarshal(text, &in.Tasks, json.RejectUnknownMembers(true))
	} else {
		err = json.Unmarshal(text, &in, json.RejectUnknownMembers(true))
	}
	if e, ok := errors.AsType[*limitError](err); ok {
		task := bytes.TrimLeft(text[e.after:], ", \t\r\n")
		return board.Plan{}, fmt.Errorf("line %d: %w", line+bytes.Count(text[:len(text)-len(task)], newline), e.err)
	}
	if err != nil {
		return board.Plan{}, err
	}
	plan := board.Plan{Goal: in.Goal, Hold: in.Draft, DryRun: in.DryRun, Key: in.Key}
	index := map[string]int{}
	for i := range in.Tasks {
		t := &in.Tasks[i]
		if t.Key == "" {
			t.Key = strconv.Itoa(i + 1)
		}
		index[t.Key] = i
	}
	goal := goalPath(in.Goal)
	paths := make([]itemPath, len(in.Tasks))
	known := make([]bool, len(in.Tasks))
	var pathOf func(i int) itemPath
	pathOf = func(i int) itemPath {
		if !known[i] {
			paths[i], known[i] = goal, true // where a cycle ends, which the board rejects
			up := goal
			if j, ok := index[in.Tasks[i].Parent]; ok {
				up = pathOf(j)
			}
			paths[i] = up.below(in.Tasks[i].Title)
		}
		return paths[i]
	}
	items := itemNames{}
	for i, t := range in.Tasks {
		task, err := t.task()
		if err != nil {
			return plan, fmt.Errorf("task %.40q: %w", t.Key, err)
		}
		task.Item = items.name(pathOf(i))
		plan.Tasks = append(plan.Tasks, task)
	}
	return plan, nil
}

func (t taskJSON) task() (board.PlanTask, error) {
	out := board.PlanTask{Key: t.Key, After: unique(t.After), Within: t.Parent, NewTask: board.NewTask{
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

// unique returns a list without what it repeats.
func unique(list []string) []string {
	seen := make(map[string]bool, len(list))
	return slices.DeleteFunc(list, func(s string) bool {
		repeated := seen[s]
		seen[s] = true
		return repeated
	})
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
