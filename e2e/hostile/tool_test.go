package hostile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// arguments are what each tool is called with; {claim} is the claim that get_next_task gave.
var arguments = map[string]string{
	"create_task":        `{"title":"Another one","description":"Do it"}`,
	"create_plan":        `{"tasks":[{"key":"a","title":"First"},{"key":"b","title":"Second","after":"a"}]}`,
	"get_next_task":      `{"wait_seconds":0}`,
	"get_task":           `{"task":"clone-1","detail":"full"}`,
	"list_tasks":         `{"status":"all"}`,
	"list_workers":       `{}`,
	"list_questions":     `{"state":"all"}`,
	"ask_question":       `{"question":"Which?","wait_seconds":0}`,
	"get_answer":         `{"question":"q-1","wait_seconds":0}`,
	"answer_question":    `{"question":"q-1","answer":"yes"}`,
	"report_progress":    `{"claim":"{claim}","note":"half","branch":"main"}`,
	"update_task":        `{"task":"clone-2","title":"New"}`,
	"cancel_task":        `{"task":"clone-2","reason":"no"}`,
	"review_task":        `{"task":"clone-1","verdict":"retry"}`,
	"report_task_done":   `{"claim":"{claim}","summary":"done","evidence":[{"kind":"commit","ref":"HEAD"},{"kind":"file","ref":"a.txt"},{"kind":"tests","ref":"ok"}]}`,
	"report_task_failed": `{"claim":"{claim}","reason":"no"}`,
}

// order is that of the calls; others follow.
var order = []string{"create_task", "get_next_task", "report_progress", "report_task_done", "get_next_task", "report_task_failed"}

var claimText = regexp.MustCompile(`Claim ([^ ,]+),`)

// tools calls every tool of `bossman mcp`, and reads every resource and prompt. A short run
// calls those that look at the work, and two of the others.
func (p *place) tools(t testing.TB) (faults []string) {
	cmd := p.command(p.dir, bossman, "mcp")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var logs, out bytes.Buffer
	cmd.Stdout, cmd.Stderr = outWrite, &logs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	outWrite.Close()
	done := make(chan struct{})
	asked := 0
	go func() {
		defer close(done)
		defer in.Close()
		asked = p.talk(t, in, bufio.NewReaderSize(io.TeeReader(outRead, &out), 1<<20))
		in.Close()
		_, _ = io.Copy(&out, outRead)
		outRead.Close()
	}()
	if _, err := finish(cmd, &logs, done, 4*tooLong); err != nil {
		faults = append(faults, err.Error())
	}
	if n := bytes.Count(out.Bytes(), []byte(`"id":`)); len(faults) == 0 && n < asked {
		faults = append(faults, "it answered too little: "+out.String())
	}
	if shows(out.String()) {
		faults = append(faults, "it shows somebody else's board")
	}
	return append(faults, p.faults(cmd, logs.String())...)
}

// talk holds the conversation, and returns how many requests it had.
func (p *place) talk(t testing.TB, in io.Writer, out *bufio.Reader) (id int) {
	call := func(method, params string) json.RawMessage {
		id++
		if _, err := io.WriteString(in, `{"jsonrpc":"2.0","id":`+jsonOf(id)+`,"method":"`+method+`","params":`+params+"}\n"); err != nil {
			return nil
		}
		for {
			line, err := out.ReadBytes('\n')
			if err != nil {
				return nil
			}
			var m struct {
				ID     int
				Method string
				Result json.RawMessage
			}
			if json.Unmarshal(line, &m) == nil && m.ID == id && m.Method == "" {
				return m.Result
			}
		}
	}
	call("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"hostile","version":"1"}}`)
	_, _ = io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	var listed struct{ Tools []struct{ Name string } }
	_ = json.Unmarshal(call("tools/list", "{}"), &listed)
	names := slices.Clone(order)
	for _, tool := range listed.Tools {
		if arguments[tool.Name] == "" {
			t.Errorf("tool %s is not called in hostile places: add it to the table", tool.Name)
		}
		if !slices.Contains(order, tool.Name) {
			names = append(names, tool.Name)
		}
	}
	reads := [][2]string{
		{"resources/read", `{"uri":"bossman://board"}`},
		{"resources/read", `{"uri":"bossman://questions"}`},
		{"resources/read", `{"uri":"bossman://task/clone-1"}`},
		{"prompts/get", `{"name":"work","arguments":{"task":"clone-1"}}`},
		{"prompts/get", `{"name":"review","arguments":{}}`},
	}
	if !everything {
		others := names[len(order):]
		names = append(order[:4:4], others[p.number%len(others)], others[(p.number+len(others)/2)%len(others)])
		reads = reads[p.number%len(reads):][:1]
	}
	claim := "clone-1/1.aaaaa"
	for _, name := range names {
		answer := call("tools/call", `{"name":"`+name+`","arguments":`+strings.ReplaceAll(arguments[name], "{claim}", claim)+`}`)
		if m := claimText.FindSubmatch(answer); m != nil {
			claim = string(m[1])
		}
	}
	for _, r := range reads {
		call(r[0], r[1])
	}
	return id
}

func jsonOf(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}
