package planfile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// full repeats a text up to the largest file.
func full(start, text string) string {
	return start + strings.Repeat(text, (MaxFile-len(start))/len(text))
}

// nested returns a checklist as large as a file may be, in which each item is a part of the one before.
func nested(tick string, title int) string {
	var b strings.Builder
	for i := 0; b.Len()+i+title+20 < MaxFile; i++ {
		fmt.Fprintf(&b, "%*s- [%s] %d%s\n", i, "", tick, i, strings.Repeat("x", title))
	}
	return b.String()
}

// nestedJSON is nested in JSON. The first task is a part of up.
func nestedJSON(n, title int, up string) string {
	var b strings.Builder
	for i := range n {
		parent := fmt.Sprint(i)
		if i == 0 {
			parent = up
		}
		fmt.Fprintf(&b, `,{"title":"%d%s","parent":"%s"}`, i, strings.Repeat("x", title), parent)
	}
	return "[" + b.String()[1:] + "]"
}

// Whatever is in a file, reading it takes time and memory in proportion to its size.
func TestParse_hostile(t *testing.T) {
	for name, text := range map[string]string{
		"nested":                      nested(" ", 100),
		"nested and ticked":           nested("x", 0),
		"long titles that are ticked": nested("x", 1500),
		"many that are ticked":        full("", "- [x] a\n"),
		"a long goal":                 full("# "+strings.Repeat("x", MaxFile/2)+"\n", "- [x] a\n"),
		"many":                        full("", "- [ ] a\n"),
		"lines":                       full("- [ ] a\n", "x\n"),
		"empty lines":                 full("- [ ] a\n", "\n"),
		"lines of a ticked item":      full("- [x] a\n", "x\n"),
		"tabs":                        full("- [ ] a\n", "\t"),
		"one title":                   full("- [ ] ", "x"),
		"acceptance":                  full("- [ ] a {acceptance: ", "y,") + "}",
		"dependencies":                full("- [ ] a {after: ", "1 ") + "}",
		"braces":                      full("- [ ] a ", "{after: 1"),
		"JSON, nested":                nestedJSON(board.MaxPlan, board.MaxTitle-3, ""),
		"JSON, a cycle":               nestedJSON(board.MaxPlan, board.MaxTitle-3, "500"),
		"JSON, many":                  "[" + full("{}", ",{}") + "]",
		"JSON, a list":                `[{"title":"a","after":["1"` + full("", `,""`)[:MaxFile/2] + `]}]`,
		"JSON, arrays":                full("", "["),
	} {
		t.Run(name, func(t *testing.T) {
			text := []byte(text[:min(len(text), MaxFile)])
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			_, err := Parse(text)
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if grown := (after.TotalAlloc - before.TotalAlloc) >> 20; grown > 256 || took > 20*time.Second {
				t.Errorf("Parse of %d bytes took %v and %d MiB: %.100v", len(text), took, grown, err)
			}
		})
	}
}

// What exceeds a limit of the board is reported with its line. Ticked items are no tasks.
func TestParse_limits(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	many := strings.Repeat("- [ ] a\n", board.MaxPlan)
	manyJSON := strings.Repeat("{\"title\":\"a\"},\n", board.MaxPlan)
	long := strings.Repeat(x(1023)+"\n", board.MaxDescription>>10)
	for _, tt := range []struct{ name, text, want string }{
		{"tasks", many, ""},
		{"one more", "# G\n" + many + "- [ ] b\n", "line 502: too many tasks in the plan: want at most 500; split it"},
		{"a ticked one more", many + "- [x] b {priority: high}\n", ""},
		{"a title", "- [ ] " + x(board.MaxTitle) + " {key: a}", ""},
		{"a long title", "- [ ] a\n\n- [ ] " + x(board.MaxTitle+1) + " {key: a}", "line 3: the title is too long: 201 bytes, want at most 200"},
		{"a long title that is ticked", "- [ ] a\n- [x] " + x(1000), ""},
		{"a description", "- [ ] a\n\n\n" + long + "\n\n- [ ] b\n" + long, ""},
		{"a long description", "- [ ] a\n" + long + "y\n", "line 130: the description is too long: want at most 131072 bytes"},
		{"a description after empty lines", "- [ ] a\nb\n" + strings.Repeat("\n", board.MaxDescription) + "c", "line 131075: the description is too long"},
		{"braces", "- [ ] a\n- [ ] b {draft: perhaps}", "line 2: draft is true or false"},
		{"JSON, tasks", "[" + strings.TrimSuffix(manyJSON, ",\n") + "]", ""},
		{"JSON, one more", "\n[" + manyJSON + "{}]", "line 502: too many tasks in the plan"},
		{"JSON, a long title", "{\"tasks\": [\n{},\n{\n\"title\": \"" + x(board.MaxTitle+1) + "\"}]}", "line 3: the title is too long"},
		{"JSON, a long description", `[{"title":"a"},{"description":"` + x(board.MaxDescription+1) + `"}]`, "line 1: the description is too long"},
		{"a long file", x(MaxFile + 1), "a plan of 1048577 bytes is too long"},
	} {
		_, err := Parse([]byte(tt.text))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// Boards keep the names of items: what was created from a file must be recognized for ever.
func TestParse_itemsStay(t *testing.T) {
	name := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "plan:" + hex.EncodeToString(sum[:16])
	}
	want := []string{name("G\x00A\x001"), name("G\x00A\x00B\x001"), name("G\x00A\x00B\x00C\x001"), name("G\x00A\x00B\x002"), name("G\x00A\x002")}
	if want[0] != "plan:808ef6b0b49c138e8ebb0c8529a4129f" {
		t.Fatalf("the first is %s", want[0])
	}
	for _, text := range []string{
		"# G\n- [ ] A\n  - [ ] B {key: b, after: x}\n    - [ ] C\n  - [ ] B\n- [ ] A\n# H",
		`{"goal":"G","tasks":[{"title":"A","key":"a"},{"title":"B","key":"b","parent":"a"},{"title":"C","parent":"b"},{"title":"B","parent":"a"},{"title":"A"}]}`,
	} {
		plan, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, task := range plan.Tasks {
			got = append(got, task.Item)
		}
		if !slices.Equal(got, want) {
			t.Errorf("the items of %q are %q, want %q", text, got, want)
		}
	}
}

// A dependency that is repeated counts once.
func TestParse_repeated(t *testing.T) {
	for _, text := range []string{"- [ ] a {after: b c b, b}", `[{"title":"a","after":"b, c, b, b"}]`, `[{"title":"a","after":["b","c","b"]}]`} {
		if plan, err := Parse([]byte(text)); err != nil || !slices.Equal(plan.Tasks[0].After, []string{"b", "c"}) {
			t.Errorf("Parse(%q) = %+v, %v", text, plan, err)
		}
	}
}
