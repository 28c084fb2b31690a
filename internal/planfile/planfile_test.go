package planfile

import (
	"slices"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/board"
)

func TestParse_markdown(t *testing.T) {
	plan, err := Parse([]byte(`# Goal

Words before.

1. [ ] First {key: a, priority: high, areas: db api, evidence: tests, commit}
   More about it.

   - a point
* [ ] Second {after: a, done, web-3}
	+ [ ] Inner {draft: true, acceptance: it works, and well}
- [x] Third {key: done}
   Not part of anything.
## Later
Not part of anything either.
- [ ] Last {with braces}
`))
	if err != nil {
		t.Fatal(err)
	}
	if plan.Goal != "Goal" || len(plan.Tasks) != 4 {
		t.Fatalf("plan is %+v", plan)
	}
	a, second, inner, last := plan.Tasks[0], plan.Tasks[1], plan.Tasks[2], plan.Tasks[3]
	if a.Key != "a" || a.Title != "First" || a.Priority != board.High || !slices.Equal(a.Areas, []string{"db", "api"}) || len(a.Wants) != 2 ||
		a.Description != "More about it.\n\n- a point" {
		t.Errorf("the first is %+v", a)
	}
	if second.Key != "2" || !slices.Equal(second.After, []string{"a", "web-3"}) {
		t.Errorf("the second is %+v", second)
	}
	if inner.Within != "2" || !inner.Hold || inner.Acceptance != "it works, and well" {
		t.Errorf("the inner one is %+v", inner)
	}
	if last.Title != "Last {with braces}" || last.Within != "" || last.Description != "" {
		t.Errorf("the last is %+v", last)
	}
}

func TestParse_wrong(t *testing.T) {
	for _, text := range []string{
		"", "words", "- [x] done", "- [ ] a {draft: perhaps}", "- [ ] a {priority: soon}", "{", `{"tasks":[{"title":1}]}`, `{"plan":[]}`,
		`[{"title":"a","title":"b"}]`, "- [ ] a {key: b, colour: red}",
	} {
		if plan, err := Parse([]byte(text)); err == nil {
			t.Errorf("Parse(%q) = %+v", text, plan)
		}
	}
}

func FuzzReadPlan(f *testing.F) {
	f.Add("# G\n- [ ] a {key: x, after: y, draft: true}\n  text\n  - [x] b")
	f.Add(`{"tasks":[{"key":"a","after":"b,c","areas":["x"]}],"draft":true}`)
	f.Fuzz(func(t *testing.T, text string) {
		plan, err := Parse([]byte(text))
		if err == nil && !strings.HasPrefix(strings.TrimSpace(text), "{") && !strings.HasPrefix(strings.TrimSpace(text), "[") && len(plan.Tasks) == 0 {
			t.Error("a plan without tasks")
		}
	})
}

// Parse of any text returns a plan with tasks, or an error.
func FuzzParse(f *testing.F) {
	f.Add("# Goal\n- [ ] One {key: a, priority: high}\n  - [x] Two\n    - [ ] Three {after: a, draft: true}\n")
	f.Add(`{"tasks":[{"key":"a","title":"x","after":"b, c","evidence":["tests"]}],"goal":"g","draft":true}`)
	f.Add(`[{"title":"x"}]`)
	f.Add("- [ ] a\n\n  b\n\n\n  c\n\n- [ ] a {after: x x, acceptance: y, z}")
	f.Add(`[{"key":"a","parent":"b","after":["x","x"]},{"key":"b","parent":"a"}]`)
	f.Fuzz(func(t *testing.T, text string) {
		plan, err := Parse([]byte(text))
		if err != nil {
			return
		}
		if len(plan.Tasks) > board.MaxPlan {
			t.Errorf("%d tasks", len(plan.Tasks))
		}
		for _, task := range plan.Tasks {
			if task.Key == "" || task.Item == "" {
				t.Errorf("a task without a key or an item: %+v", task)
			}
			if len(strings.TrimSpace(task.Title)) > board.MaxTitle || len(strings.TrimSpace(task.Description)) > board.MaxDescription {
				t.Errorf("a task that is too long: %+v", task)
			}
		}
	})
}

// An item keeps its name when other lines of the file change, and when it is read as JSON.
func TestParse_items(t *testing.T) {
	items := func(text string) map[string]string {
		t.Helper()
		plan, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		byTitle := map[string]string{}
		seen := map[string]bool{}
		for _, task := range plan.Tasks {
			if task.Item == "" || seen[task.Item] {
				t.Errorf("the item of %q is %q, want a name of its own", task.Title, task.Item)
			}
			seen[task.Item] = true
			byTitle[task.Within+"/"+task.Title] = task.Item
		}
		return byTitle
	}
	before := items("# Goal\n- [ ] A {key: a}\n  - [ ] Test\n- [ ] B {key: b}\n  - [ ] Test\n- [ ] Twice {key: x}\n- [ ] Twice {key: y}\n")
	after := items("# Goal\n\nMore words.\n- [ ] New\n- [ ] B {key: b, after: a, priority: high}\n  About B.\n  - [ ] Test\n- [ ] A {key: a}\n  - [x] Old\n  - [ ] Test\n")
	asJSON := items(`{"goal":"Goal","tasks":[{"key":"t","title":"Test","parent":"a"},{"key":"a","title":"A"}]}`)
	for _, name := range []string{"/A", "/B", "a/Test", "b/Test"} {
		if before[name] == "" || before[name] != after[name] {
			t.Errorf("%s was %q and is %q", name, before[name], after[name])
		}
	}
	if asJSON["a/Test"] != before["a/Test"] || asJSON["/A"] != before["/A"] {
		t.Errorf("as JSON: %v, want the names of %v", asJSON, before)
	}
	if other := items("# Another goal\n- [ ] A"); other["/A"] == before["/A"] {
		t.Error("the items of two goals have one name")
	}
}
