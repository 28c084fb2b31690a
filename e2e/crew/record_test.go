package crew

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// recordVariable names the directory for recordings of the agents. They are made with
//
//	BOSSMAN_CREW_RECORD=testdata make crew
//
// and played where the agents are not installed.
const recordVariable = "BOSSMAN_CREW_RECORD"

// recorded is the small form with a program that has more faults, so that all agents have a job with
// none before the last fault has met a job: they then report progress.
var recorded = form{agents: small.agents, tasks: 22, faults: map[kind][]fault{
	oauth: small.faults[oauth], key: small.faults[key], codex: small.faults[codex], command: append(slices.Repeat([]fault{lingers}, 8), small.faults[command]...),
}}

// A line is one of a recording: JSON from the client, which is the runner, or from the server, which
// is the agent, or the name of what the model answers: a tool, limit, hold, or nothing for a text.
type line struct {
	From    string          `json:"from"`
	Line    json.RawMessage `json:"line"`
	Answers int             `json:"answers,omitempty"` // those of the model so far, with this one
}

// recordingOf is the file with the recording for a kind of agent and a fault.
func recordingOf(k kind, f fault) string {
	return strings.NewReplacer(",", "", " ", "-").Replace(string(k)+"/"+string(f)) + ".jsonl"
}

// readRecording reads the lines of a recording.
func readRecording(b []byte) (lines []line, err error) {
	for text := range bytes.Lines(b) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, fmt.Errorf("%q in a recording: %w", text, err)
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// record is the command for an agent behind the tee, which writes down what passes in each job.
func (o *office) record(t *testing.T, agent string) string {
	t.Helper()
	dir := filepath.Dir(o.raw(""))
	if _, err := harness.Build(dir); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "tee") + " " + dir + "/$(echo $BOSSMAN_CLAIM | tr / -).jsonl " + agent
}

// raw is the file of the tee for a job.
func (o *office) raw(claim string) string {
	return filepath.Join(o.home, "raw", strings.ReplaceAll(claim, "/", "-")+".jsonl")
}

// mark notes the answer of a model in the file of the tee, if there is one.
func (o *office) mark(j *job, answer string) {
	f, err := os.OpenFile(o.raw(j.claim), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return // nothing is recorded
	}
	defer f.Close()
	j.mu.Lock()
	defer j.mu.Unlock()
	_, _ = fmt.Fprintf(f, "{\"from\":\"model\",\"line\":%q,\"answers\":%d}\n", answer, j.charged)
}

// keepRecordings writes the recordings to dir. Of several it takes the one with the most different
// calls, and of these the shortest.
func (o *office) keepRecordings(t *testing.T, dir string) {
	t.Helper()
	best := map[string][]line{}
	for _, j := range o.plan.jobs {
		if j.kind == command || j.attempt != "1" {
			continue
		}
		name, lines := recordingOf(j.kind, j.fault), o.tidy(t, j)
		more := len(answersIn(lines)) - len(answersIn(best[name]))
		if more > 0 || more == 0 && len(lines) < len(best[name]) {
			best[name] = lines
		}
	}
	for name, lines := range best {
		var b bytes.Buffer
		out := json.NewEncoder(&b)
		out.SetEscapeHTML(false)
		for _, l := range lines {
			if err := out.Encode(l); err != nil {
				t.Fatal(err)
			}
		}
		if private := filepath.Base(o.home); strings.Contains(b.String(), private) {
			t.Errorf("%s still has %s", name, private)
		}
		write(t, filepath.Join(dir, name), b.String(), 0o644)
	}
}

// answersIn are the answers of the model in a recording, each once.
func answersIn(lines []line) (all []string) {
	for _, l := range lines {
		if a := l.answer(); l.From == "model" && !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	return all
}

// answer is what the model answers, in a line of its.
func (l line) answer() (a string) {
	_ = json.Unmarshal(l.Line, &a)
	return a
}

// tidy returns what the tee wrote down of a job, with placeholders for what differs from job to job.
func (o *office) tidy(t *testing.T, j *job) (tidied []line) {
	t.Helper()
	b, err := os.ReadFile(o.raw(j.claim))
	if err != nil {
		t.Fatal(err)
	}
	b = regexp.MustCompile(regexp.QuoteMeta(o.dir)+`\.worktrees/slot-\d+`).ReplaceAll(b, []byte("{dir}"))
	text := strings.NewReplacer(j.file(), "{file}", j.claim, "{claim}", j.task, "{task}", o.url, "{url}", o.home, "{home}").Replace(string(b))
	text = regexp.MustCompile(`(resetsAt\\":)\d+`).ReplaceAllString(text, `$1\"{reset}\"`)
	if session := sessionID.FindStringSubmatch(text); session != nil {
		text = strings.ReplaceAll(text, session[1], "{session}")
	}
	ids := map[string]string{}
	text = isID.ReplaceAllStringFunc(text, func(id string) string {
		if ids[id] == "" {
			ids[id] = fmt.Sprintf("00000000-0000-4000-8000-%012d", len(ids)+1)
		}
		return ids[id]
	})
	noted, repeated := false, false
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		var l struct {
			line
			Line string `json:"line"`
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		if l.From == "model" { // one note is enough
			repeated = noted && l.Line == "report_progress"
			noted = noted || l.Line == "report_progress"
			l.line.Line, _ = json.Marshal(l.Line)
		} else {
			l.line.Line = trimmed(t, l.Line)
		}
		if l.From != "" && !repeated {
			tidied = append(tidied, l.line)
		}
	}
	return tidied
}

var (
	sessionID = regexp.MustCompile(`(?:\\"session_id\\":|\\"thread\\":{\\"id\\":)\\"([0-9a-f-]{36})\\"`)
	isPerson  = regexp.MustCompile(`"[^"]*" \(person\)`)
	isID      = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|msg_[A-Z2-7]{26}`)
)

// private are the fields that say something about the machine.
var private = []string{"memory_paths", "messaging_socket_path", "path", "userAgent", "serverName", "installationId", "answered_by"}

// longList is how long a list may be in a recording.
const longList = 4

// trimmed is a line without what is private, and with little of what is long.
func trimmed(t *testing.T, text string) json.RawMessage {
	t.Helper()
	if text == "" {
		return nil // how it ended
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	var trim func(v any) any
	trim = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for name, field := range v {
				switch {
				case slices.Contains(private, name):
					delete(v, name)
				case name == "env":
					v[name] = "{env}"
				default:
					v[name] = trim(field)
				}
			}
		case []any:
			for i := range v {
				v[i] = trim(v[i])
			}
			if len(v) > longList {
				return v[:1]
			}
		case string:
			if strings.HasPrefix(v, "{task} is yours.") {
				return "{prompt}"
			}
			return isPerson.ReplaceAllString(v, `"{person}" (person)`)
		}
		return v
	}
	b, err := json.Marshal(trim(v))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
