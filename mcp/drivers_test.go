package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	jsonv2 "github.com/go-json-experiment/json"
)

// An askingCase is a handler that asks, and a client's answers: for each key the
// first, the second and so on; the last goes on for ever.
type askingCase struct {
	name    string
	handle  func(c *Call, once func() int) (string, error)
	answers map[string][]string
	want    string
}

func accept(content string) string { return `{"action":"accept","content":` + content + `}` }

const (
	decline = `{"action":"decline"}`
	dismiss = `{"action":"cancel"}`
)

func askName(c *Call, _ func() int) (string, error) {
	name, err := Ask[string](c, "name", "name")
	if err != nil {
		return "", err
	}
	return "hello " + name, nil
}

func askThree(c *Call, _ func() int) (string, error) {
	name, err := Ask[string](c, "name", "name")
	said, err2 := c.Sample("poem", &SampleParams{MaxTokens: 1, Messages: []SampleMessage{{Role: "user", Content: Blocks{Text("poem")}}}})
	roots, err3 := c.Roots("roots")
	if err := JoinAsks(err, err2, err3); err != nil {
		return "", err
	}
	return fmt.Sprint(name, " ", said.Content[0].Text, " ", len(roots)), nil
}

func askInTurn(c *Call, once func() int) (string, error) {
	lot, err := Once(c, "lot", func() (int, error) { return once(), nil })
	if err != nil {
		return "", err
	}
	name, err := Ask[string](c, "name", "name")
	if err != nil {
		return "", err
	}
	late, err := Once(c, "late", func() (int, error) { return once(), nil })
	if err != nil {
		return "", err
	}
	p, err := Ask[person](c, "who", "who")
	if err != nil {
		return "", err
	}
	if err := c.AskURL("page", "page", "https://example.com"); err != nil {
		return "", err
	}
	return fmt.Sprint(name, " ", p.Name, " ", p.Colour, " ", lot, " ", late), nil
}

func askingCases() []askingCase {
	poem := `{"role":"assistant","content":{"type":"text","text":"roses"},"model":"m"}`
	ann := accept(`{"name":"Ann"}`)
	return []askingCase{
		{"accepted", askName, map[string][]string{"name": {ann}}, "hello Ann"},
		{"declined", askName, map[string][]string{"name": {decline}}, "error: declined by the user"},
		{"dismissed", askName, map[string][]string{"name": {dismiss}}, "error: dismissed by the user"},
		{"misfit, then right", askName, map[string][]string{"name": {accept(`{"name":7}`), accept(`{}`), `{"action":"maybe"}`, `{"action":"accept"}`, ann}}, "hello Ann"},
		{"misfit, then declined", askName, map[string][]string{"name": {accept(`[]`), decline}}, "error: declined by the user"},
		{"never right", askName, map[string][]string{"name": {accept(`{"name":7}`)}}, "-32603: still asking after 8 rounds"},
		{"right at the last moment", askName, map[string][]string{"name": append(strings.Fields(strings.Repeat(`{"action":"maybe"} `, 7)), ann)}, "hello Ann"},
		{"several at once", askThree, map[string][]string{"name": {ann}, "poem": {poem}, "roots": {`{"roots":[{"uri":"file:///a"}]}`}}, "Ann roses 1"},
		{"several at once, some misfit", askThree, map[string][]string{"name": {ann}, "poem": {`{"model":"m"}`, poem}, "roots": {`{}`, `{"roots":null}`, `{"roots":[]}`}}, "Ann roses 0"},
		{"several at once, one declined", askThree, map[string][]string{"name": {decline}, "poem": {poem}, "roots": {`{"roots":[]}`}}, "error: declined by the user"},
		{"several rounds, and once", askInTurn, map[string][]string{
			"name": {ann}, "who": {accept(`{"name":"Ann","colour":"pink"}`), accept(`{"name":"Bob","colour":"blue","age":7}`)}, "page": {`{"action":"accept"}`},
		}, "Ann Bob blue 1 2"},
		{"several rounds, the last declined", askInTurn, map[string][]string{
			"name": {ann}, "who": {accept(`{"name":"Ann","colour":"red"}`)}, "page": {decline},
		}, "error: declined by the user"},
		{"a refusal that the tool takes well", func(c *Call, _ func() int) (string, error) {
			_, err := Ask[string](c, "name", "name")
			if errors.Is(err, ErrDeclined) {
				return "as you like", nil
			}
			return "", err
		}, map[string][]string{"name": {decline}}, "as you like"},
		{"a failure behind the answer", func(c *Call, _ func() int) (string, error) {
			if _, err := askName(c, nil); err != nil {
				return "", err
			}
			return "", &ToolError{Text: "no such person"}
		}, map[string][]string{"name": {ann}}, "error: no such person"},
	}
}

// TestAsk_sameThroughAllDrivers runs each case by requests of the server's, by
// round trips and on a task: outcome and number of runs must be the same.
func TestAsk_sameThroughAllDrivers(t *testing.T) {
	drivers := []struct {
		name  string
		drive func(*asker3) string
	}{
		{"legacy", (*asker3).legacy},
		{"modern", (*asker3).modern},
		{"durable", (*asker3).durable},
	}
	for _, tt := range askingCases() {
		runs := map[string]int{}
		for _, d := range drivers {
			t.Run(tt.name+"/"+d.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := NewServer(Implementation{Name: "n", Version: "1"}, nil)
					onces := 0
					AddTool(s, Tool{Name: "ask", Description: "Ask.", Tasks: TaskOptional}, func(_ context.Context, c *Call, _ nothing) (string, error) {
						return AsTask(c, func(_ context.Context, c *Call) (string, error) {
							runs[d.name]++
							return tt.handle(c, func() int { onces++; return onces })
						})
					})
					a := &asker3{rawClient: newRawClient(t, s), answers: tt.answers, asked: map[string]int{}}
					if got := d.drive(a); got != tt.want {
						t.Errorf("outcome = %q, want %q", got, tt.want)
					}
					a.end()
				})
			})
		}
		if runs["legacy"] != runs["modern"] || runs["modern"] != runs["durable"] {
			t.Errorf("%s: runs of the handler = %v, want the same for all", tt.name, runs)
		}
	}
}

// asker3 is a client that can be asked in three ways.
type asker3 struct {
	*rawClient
	answers map[string][]string
	asked   map[string]int
	id      int
}

// answer is the client's next answer to a question.
func (a *asker3) answer(key string) string {
	list := a.answers[key]
	if len(list) == 0 {
		a.t.Fatalf("asked %q, which the case does not answer", key)
	}
	n := min(a.asked[key], len(list)-1)
	a.asked[key]++
	return list[n]
}

// ask sends a request with members of params, and returns its answer's JSON.
func (a *asker3) ask(method, params string) json.RawMessage {
	a.t.Helper()
	a.id++
	a.send([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, a.id, method, params) + "\n"))
	synctest.Wait()
	lines := a.take()
	if len(lines) != 1 {
		a.t.Fatalf("%s = %q, want one answer", method, lines)
	}
	return json.RawMessage(lines[0])
}

func (a *asker3) legacy() string {
	a.open(R20251125)
	a.send([]byte(`{"jsonrpc":"2.0","id":"call","method":"tools/call","params":{"name":"ask","arguments":{}}}` + "\n"))
	for {
		synctest.Wait()
		lines := a.take()
		if len(lines) != 1 {
			a.t.Fatalf("heard %q, want one question or the answer", lines)
		}
		var q struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Message  string          `json:"message"`
				Messages []SampleMessage `json:"messages"`
			} `json:"params"`
		}
		if err := jsonv2.Unmarshal([]byte(lines[0]), &q); err != nil {
			a.t.Fatal(err)
		}
		key := q.Params.Message // which is the key, in these cases
		switch q.Method {
		case "":
			return outcome(a.t, json.RawMessage(lines[0]))
		case "roots/list":
			key = "roots"
		case "sampling/createMessage":
			key = q.Params.Messages[0].Content[0].Text
		}
		a.send([]byte(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":` + a.answer(key) + "}\n"))
	}
}

func (a *asker3) modern() string {
	params := `"name":"ask","arguments":{},` + abbreviations.Replace("$able")
	answer := a.ask("tools/call", params)
	for {
		res := fieldOf(answer, "result")
		if string(fieldOf(res, "resultType")) != `"input_required"` {
			return outcome(a.t, answer)
		}
		answer = a.ask("tools/call", params+`,"requestState":`+string(fieldOf(res, "requestState"))+`,"inputResponses":`+a.all(fieldOf(res, "inputRequests")))
	}
}

// all answers all questions of a round.
func (a *asker3) all(requests json.RawMessage) string {
	answers := map[string]json.RawMessage{}
	for key := range memberNames(requests) {
		plain, _, _ := strings.Cut(key, "~")
		answers[key] = json.RawMessage(a.answer(plain))
	}
	b, err := jsonv2.Marshal(answers)
	if err != nil {
		a.t.Fatal(err)
	}
	return string(b)
}

func memberNames(object json.RawMessage) map[string]json.RawMessage {
	m := map[string]json.RawMessage{}
	_ = jsonv2.Unmarshal(object, &m)
	return m
}

func (a *asker3) durable() string {
	meta := `,` + metaBegins + `{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
	task := fieldOf(fieldOf(a.ask("tools/call", `"name":"ask","arguments":{}`+meta), "result"), "taskId")
	seen := map[string]bool{}
	for {
		answer := a.ask("tasks/get", `"taskId":`+string(task)+meta)
		res := fieldOf(answer, "result")
		switch string(fieldOf(res, "status")) {
		case `"input_required"`:
			for key := range memberNames(fieldOf(res, "inputRequests")) { // in parts
				if seen[key] {
					a.t.Errorf("key %q is used twice in one task", key)
				}
				seen[key] = true
				if plain, _, again := strings.Cut(key, "~"); again != (a.asked[plain] > 0) {
					a.t.Errorf("key %q for a question that was asked %d times before", key, a.asked[plain])
				}
				a.ask("tasks/update", `"taskId":`+string(task)+`,"inputResponses":`+a.all(json.RawMessage(`{"`+key+`":{}}`))+meta)
			}
		case `"completed"`:
			return outcome(a.t, json.RawMessage(`{"result":`+string(fieldOf(res, "result"))+`}`))
		case `"failed"`:
			return outcome(a.t, json.RawMessage(`{"error":`+string(fieldOf(res, "error"))+`}`))
		default:
			a.t.Fatalf("task = %s", answer)
		}
	}
}

// outcome is an answer in short, without what the eras add to it.
func outcome(t testing.TB, answer json.RawMessage) string {
	var m struct {
		Result *ToolResult `json:"result"`
		Error  *struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := jsonv2.Unmarshal(answer, &m); err != nil {
		t.Fatalf("%s: %v", answer, err)
	}
	switch {
	case m.Error != nil:
		return fmt.Sprintf("%d: %s", m.Error.Code, m.Error.Message)
	case len(m.Result.Content) != 1 || m.Result.StructuredContent != nil:
		return string(answer)
	case m.Result.IsError:
		return "error: " + m.Result.Content[0].Text
	}
	return m.Result.Content[0].Text
}
