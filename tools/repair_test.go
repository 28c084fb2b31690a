package tools

import (
	"encoding/json"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/bossman-dev/bossman/mcp"
)

func TestRepair(t *testing.T) {
	for _, c := range []struct {
		tool           *definition
		in, want, note string
	}{
		{getNextTask, `{}`, `{}`, ""},
		{getNextTask, `{"worker":null,"skills":null}`, `{}`, ""},
		{getNextTask, `{"wait_seconds":"30","skills":"[\"go\",\"gpu\"]"}`, `{"skills":["go","gpu"],"wait_seconds":30}`, ""},
		{getNextTask, `{"waitSeconds":"30s","skills":"go, gpu"}`, `{"skills":["go","gpu"],"wait_seconds":30}`, ""},
		{getNextTask, `{"wait_seconds":3e2}`, `{"wait_seconds":45}`, "wait_seconds was set to 45: the range is 0 to 45."},
		{getNextTask, `{"wait_seconds":-1}`, `{"wait_seconds":0}`, "wait_seconds was set to 0: the range is 0 to 45."},
		{getNextTask, `{"taskId":"web-1"}`, `{"task":"web-1"}`, ""},
		{getNextTask, `{"id":"web-1","task":"web-2"}`, `{"task":"web-2"}`, ""},
		{getNextTask, `{"task":"web-2","id":"web-1"}`, `{"task":"web-2"}`, "Ignored, because get_next_task has no such argument: \"id\"."},
		{getNextTask, `{"mood":"good","Worker":"x"}`, `{"worker":"x"}`, "Ignored, because get_next_task has no such argument: \"mood\"."},
		{reportTaskFailed, `{"claim":"c","reason":"r","kind":"Wrong Spec"}`, `{"claim":"c","reason":"r","kind":"wrong_spec"}`, ""},
		{reportTaskFailed, `{"claim":"c","reason":"r","kind":""}`, `{"claim":"c","reason":"r"}`, ""},
		{reportTaskDone, `{"claim":"c","summary":"s","evidence":"it works"}`, `{"claim":"c","summary":"s","evidence":[{"kind":"other","ref":"it works"}]}`, ""},
		{reportTaskDone, `{"claim":"c","summary":"s","evidence":{"kind":"PR","url":"u","x":1}}`, `{"claim":"c","summary":"s","evidence":[{"kind":"pr","ref":"u"}]}`, "Ignored, because report_task_done has no such argument: \"evidence[0].x\"."},
		{reportTaskDone, `{"claim":"c","summary":"s","artifacts":"a, b"}`, `{"claim":"c","summary":"s","artifacts":["a, b"]}`, ""},
		{createTask, `{"description":"d","priority":0}`, `{"description":"d","priority":"urgent"}`, ""},
		{createTask, `{"description":"d","priority":"P3","hold":"Yes","dependsOn":["web-1",2]}`, `{"description":"d","priority":"low","depends_on":["web-1","2"],"draft":true}`, ""},
		{createTask, `{"description":"d","evidence":["Tests",null]}`, `{"description":"d","evidence":["tests"]}`, ""},
		{createPlan, `{"tasks":"[{\"key\":1,\"title\":\"t\",\"after\":[\"a\",\"b\"]}]"}`, `{"tasks":[{"key":"1","title":"t","after":"a, b"}]}`, ""},
	} {
		got, notes, err := c.tool.repair(json.RawMessage(c.in))
		if err != nil || !same(got, c.want) || strings.Join(notes, "\n") != c.note {
			t.Errorf("%s %s\n got %s %q %v\nwant %s %q", c.tool.name, c.in, got, notes, err, c.want, c.note)
		}
	}
}

func same(a json.RawMessage, b string) bool {
	x, y := jsontext.Value(a).Clone(), jsontext.Value(b).Clone()
	return x.Canonicalize() == nil && y.Canonicalize() == nil && string(x) == string(y)
}

func TestRepair_refuses(t *testing.T) {
	for _, c := range []struct {
		tool    *definition
		in, why string
	}{
		{reportTaskDone, `{"claim":"c","summary":"s","status":"failed"}`, "always means done"},
		{reportTaskDone, `{"claim":"c","summary":"s","success":false}`, "always means done"},
		{reportTaskDone, `{"claim":"c","summary":"s","failed":true}`, "always means done"},
		{reportTaskDone, `{"claim":"c"}`, "It requires summary."},
		{reportTaskDone, `{}`, "It requires claim and summary."},
		{reportTaskDone, `{"claim":"c","summary":["a"]}`, "summary must be a string, not a list."},
		{reportTaskDone, `{"claim":"c","summary":"s","evidence":[{"kind":"rumour"}]}`, `evidence[0].kind must be one of commit, pr, tests, command, file, url, other, not "rumour".`},
		{getNextTask, `{"wait_seconds":"soon"}`, `wait_seconds must be an integer, not the string "soon".`},
		{createTask, `{"description":"d","hold":"perhaps"}`, `draft must be true or false, not the string "perhaps".`},
		{createTask, `{"description":"d","priority":"whenever"}`, `priority must be one of urgent, high, normal, low, not "whenever".`},
		{createPlan, `{"tasks":["a","b"]}`, `tasks must contain objects, not the string "a".`},
		{createPlan, `{"tasks":[{"title":"t"}]}`, "It requires key in tasks[0]."},
	} {
		_, _, err := c.tool.repair(json.RawMessage(c.in))
		e, ok := err.(*mcp.ToolError)
		if !ok || !strings.Contains(e.Text, c.why) || !strings.HasPrefix(e.Text, "Refused: "+c.tool.name+". Nothing has changed.") || !strings.Contains(e.Text, "Next: ") {
			t.Errorf("%s %s\n got %v\nwant %s", c.tool.name, c.in, err, c.why)
		}
	}
}

// FuzzRepair: whatever a model sends, the result matches the schema, or it is refused with
// all four parts. Repairing the result again changes nothing.
func FuzzRepair(f *testing.F) {
	for i := range tools {
		f.Add(i, []byte(`{"claim":"web-1/1.abcde","summary":"s","evidence":[{"kind":"pr","ref":"31"}],"tasks":[{"key":"a","title":"b","after":["c"]}]}`))
		f.Add(i, []byte(`{"task":"web-1","worker":null,"skills":"[\"go\"]","wait_seconds":"45","hold":"yes","priority":1,"evidence":"x"}`))
		f.Add(i, []byte(`{"question":"q-1","answer":{"a":1},"verdict":"ACCEPT","reason":"x","note":true,"description":"d","kind":"other","limit":1e400}`))
		f.Add(i, []byte(`{"wait_seconds":"NaN","percent":"Inf","tasks":"[1,[2],{}]","options":"","follow_ups":[{"title":1},[[]],null]}`))
	}
	checks := make([]*jsonschema.Resolved, len(tools))
	for i, d := range tools {
		var s jsonschema.Schema
		if err := s.UnmarshalJSON(schema(d.props)); err != nil {
			f.Fatal(err)
		}
		var err error
		if checks[i], err = s.Resolve(nil); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, i int, raw []byte) {
		i = ((i % len(tools)) + len(tools)) % len(tools)
		if v := jsontext.Value(raw); !v.IsValid() || v.Kind() != '{' {
			t.Skip() // the codec refuses it
		}
		d := tools[i]
		got, notes, err := d.repair(raw)
		if err != nil {
			if e, ok := err.(*mcp.ToolError); !ok || len(e.Text) > 4000 || !strings.Contains(e.Text, "Nothing has changed.") {
				t.Fatalf("%s %s: %v", d.name, raw, err)
			}
			return
		}
		if n := len(strings.Join(notes, "")); n > 4000 {
			t.Fatalf("%d bytes of notes", n)
		}
		var v any
		if err := jsonv2.Unmarshal(got, &v); err != nil {
			t.Fatalf("%s %s gives %s: %v", d.name, raw, got, err)
		}
		if err := checks[i].Validate(v); err != nil {
			t.Fatalf("%s %s gives %s: %v", d.name, raw, got, err)
		}
		again, notes, err := d.repair(got)
		if err != nil || len(notes) > 0 || string(again) != string(got) {
			t.Fatalf("%s: repairing %s again gives %s %q %v", d.name, got, again, notes, err)
		}
	})
}
