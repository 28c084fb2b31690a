package mcp

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/bossman-dev/bossman/internal/rawjson"
	"github.com/bossman-dev/bossman/jsonrpc"
)

var update = flag.Bool("update", false, "rewrite the server's answers in the transcripts")

// TestTranscripts plays the conversations below testdata. Each is a txtar file
// with a file named conversation, whose lines are
//
//	-> {…}          the client sends a line, and what comes of it is waited for
//	-& {…}          the client sends a line together with the next one
//	<- {…}          what the server sends then, in this order
//	<~ {…}          the same, in any order within the group
//	.. 1s           time passes
//	== open         the handshake of the folder's revision, with all capabilities
//	== panic        the program was told of a panic
//	== add x        a tool is added
//	== remove tool x, == updated uri   something else changes on the server
//	== eof          the client ends; the server answers what is left and ends
//	# …             a remark
//
// The server must send what is written and nothing else. In what the client
// sends, $meta, $able and $tasks stand for the _meta of a stateless request with
// no, with most and with all capabilities. Values that differ from run to run
// get names such as $state1 in what the server sends, for the client to use.
func TestTranscripts(t *testing.T) {
	schemas := publishedSchemas(t)
	folders, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range folders {
		t.Run(strings.TrimSuffix(filepath.ToSlash(file)[len("testdata/"):], ".txtar"), func(t *testing.T) {
			tr, err := readTranscript(file)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			synctest.Test(t, func(t *testing.T) { got = tr.play(t, schemas) })
			if t.Failed() {
				return
			}
			if *update {
				if err := os.WriteFile(file, []byte(tr.comment+"-- conversation --\n"+strings.Join(got, "\n")+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			for i := range max(len(got), len(tr.lines)) {
				if i >= len(got) || i >= len(tr.lines) || got[i] != tr.lines[i] {
					t.Fatalf("line %d:\n got %s\nwant %s", tr.first+i, at(got, i), at(tr.lines, i))
				}
			}
		})
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "nothing"
}

type transcript struct {
	revision Revision // 0 for both eras
	comment  string
	lines    []string
	first    int // the number of the first line
}

func readTranscript(file string) (*transcript, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	comment, conversation, ok := strings.Cut(string(b), "-- conversation --\n")
	if !ok || comment == "" {
		return nil, fmt.Errorf("%s: want a comment and a file named conversation", file)
	}
	tr := &transcript{comment: comment, first: strings.Count(comment, "\n") + 2}
	tr.revision, _ = ParseRevision(filepath.Base(filepath.Dir(file)))
	tr.lines = strings.Split(strings.TrimSuffix(conversation, "\n"), "\n")
	return tr, nil
}

// A played conversation, at one moment.
type stage struct {
	t       *testing.T
	server  *Server
	to      *io.PipeWriter
	served  chan error
	ended   bool
	names   map[string]string // value → $name
	counts  map[string]int
	schemas map[string]*jsonschema.Resolved
	both    bool // eras: initialize settles session
	session Revision
	asked   map[string]asked // by id

	mu     sync.Mutex
	heard  []string
	panics int
}

type asked struct {
	method   string
	revision Revision
}

// play runs the conversation and returns it as it went.
func (tr *transcript) play(t *testing.T, schemas map[string]*jsonschema.Resolved) (out []string) {
	s := &stage{
		t: t, names: map[string]string{}, counts: map[string]int{}, schemas: schemas, served: make(chan error, 1),
		both: tr.revision == 0, asked: map[string]asked{}, session: cmp.Or(tr.revision, LatestRevision),
	}
	s.server = newFixture(ServerOptions{}, func(any) { s.mu.Lock(); s.panics++; s.mu.Unlock() })
	defer s.server.Close()
	in, to := io.Pipe()
	from, srvOut := io.Pipe()
	s.to = to
	go func() { s.served <- s.server.Serve(t.Context(), jsonrpc.Lines(in, srvOut, jsonrpc.Limits{})) }()
	go s.listen(from)

	for i := 0; i < len(tr.lines); i++ {
		line := tr.lines[i]
		out = append(out, line)
		word, rest, _ := strings.Cut(line, " ")
		together := ""
		for word == "-&" {
			together += s.fill(rest) + "\n"
			i++
			line = tr.lines[i]
			out = append(out, line)
			word, rest, _ = strings.Cut(line, " ")
		}
		switch word {
		case "", "#":
			continue
		case "->":
			s.send(together + s.fill(rest) + "\n")
		case "..":
			d, err := time.ParseDuration(rest)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(d)
		case "==":
			s.act(strings.Fields(rest), tr.revision)
		default:
			t.Fatalf("line %d: %q", tr.first+i, line)
		}
		synctest.Wait()
		any := false
		for i+1 < len(tr.lines) && (strings.HasPrefix(tr.lines[i+1], "<-") || strings.HasPrefix(tr.lines[i+1], "<~")) {
			any = any || tr.lines[i+1][1] == '~'
			i++
		}
		answers := s.take()
		mark := "<- "
		if any {
			mark = "<~ "
			slices.Sort(answers)
		}
		for _, a := range answers {
			out = append(out, mark+a)
		}
	}
	if !s.ended {
		s.end()
		if rest := s.take(); len(rest) > 0 {
			t.Errorf("after the end the server sent %q", rest)
		}
	}
	if s.panics != 0 {
		t.Errorf("%d panics that the transcript does not tell of", s.panics)
	}
	return out
}

func (s *stage) listen(from io.Reader) {
	r := bufio.NewReader(from)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		s.mu.Lock()
		s.heard = append(s.heard, strings.TrimSuffix(line, "\n"))
		s.mu.Unlock()
	}
}

func (s *stage) send(text string) {
	for line := range strings.Lines(text) {
		s.note(json.RawMessage(line))
	}
	if _, err := io.WriteString(s.to, text); err != nil {
		s.t.Fatalf("send: %v", err)
	}
}

// note remembers what was asked, to know what the answer should look like.
func (s *stage) note(raw json.RawMessage) {
	var batch []json.RawMessage
	if jsonv2.Unmarshal(raw, &batch) == nil {
		for _, m := range batch {
			s.note(m)
		}
		return
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if jsonv2.Unmarshal(raw, &m) != nil || m.Method == "" || m.ID == nil {
		return
	}
	if m.Method == "initialize" && s.both {
		s.session, _ = ParseRevision(strings.Trim(string(fieldOf(m.Params, "protocolVersion")), `"`))
	}
	a := asked{m.Method, s.session}
	if parseMeta(fieldOf(m.Params, "_meta")).version.to > 0 {
		a.revision = LatestRevision
	}
	s.asked[string(m.ID)] = a
}

func fieldOf(object json.RawMessage, name string) (value json.RawMessage) {
	for n, v := range rawjson.Members(object) {
		if n == name {
			value = v
		}
	}
	return value
}

const metaBegins = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":`

var abbreviations = strings.NewReplacer(
	"$meta", metaBegins+`{}}`,
	"$able", metaBegins+`{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}}`,
	"$tasks", metaBegins+`{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`,
)

// fill puts values in place of their names.
func (s *stage) fill(line string) string {
	return valueName.ReplaceAllStringFunc(abbreviations.Replace(line), func(name string) string {
		for value, n := range s.names {
			if n == name {
				return value
			}
		}
		return name
	})
}

var valueName = regexp.MustCompile(`\$[a-z]+[0-9]+`)

func (s *stage) act(words []string, r Revision) {
	switch words[0] {
	case "open":
		s.send(openingLine(r) + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
		synctest.Wait()
		if got := s.take(); len(got) != 1 || !strings.Contains(got[0], `"protocolVersion":"`+r.String()+`"`) {
			s.t.Fatalf("initialize %v = %q", r, got)
		}
	case "panic":
		s.mu.Lock()
		if s.panics != 1 {
			s.t.Errorf("%d panics were told of, want 1", s.panics)
		}
		s.panics = 0
		s.mu.Unlock()
	case "remove":
		s.server.Remove(Kind(words[1]), words[2])
	case "add":
		AddTool(s.server, Tool{Name: words[1], Description: "Come late."}, func(context.Context, *Call, nothing) (string, error) { return "here", nil })
	case "updated":
		s.server.ResourceUpdated(words[1])
	case "eof":
		s.end()
	default:
		s.t.Fatalf("unknown action %q", words)
	}
}

func openingLine(r Revision) string {
	return `{"jsonrpc":"2.0","id":"open","method":"initialize","params":{"protocolVersion":"` + r.String() + `",` +
		`"capabilities":{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}},"clientInfo":{"name":"transcript","version":"1"}}}`
}

func (s *stage) end() {
	s.ended = true
	s.to.Close()
	if err := <-s.served; err != nil {
		s.t.Errorf("Serve = %v, want nil at the client's end", err)
	}
	synctest.Wait()
}

var varying = []struct {
	name string
	find *regexp.Regexp
}{
	{"state", regexp.MustCompile(`"requestState":"([^"]+)"`)},
	{"task", regexp.MustCompile(`"taskId":"([^"]+)"`)},
	{"elicitation", regexp.MustCompile(`"elicitationId":"([^"]+)"`)},
	{"ref", regexp.MustCompile(`Internal error: ref ([A-Z2-7]{10})`)},
}

// take returns what the server has sent, checked and with names for what varies.
func (s *stage) take() []string {
	s.mu.Lock()
	heard := s.heard
	s.heard = nil
	s.mu.Unlock()
	for i, line := range heard {
		s.check(json.RawMessage(line))
		for _, v := range varying {
			for _, m := range v.find.FindAllStringSubmatch(line, -1) {
				if s.names[m[1]] == "" {
					s.counts[v.name]++
					s.names[m[1]] = fmt.Sprintf("$%s%d", v.name, s.counts[v.name])
				}
			}
		}
		for value, name := range s.names {
			line = strings.ReplaceAll(line, value, name)
		}
		heard[i] = line
	}
	return heard
}

// publishedSchemas reads the schemas of all revisions and of the extension, or
// returns nil where they are not at hand.
func publishedSchemas(t *testing.T) map[string]*jsonschema.Resolved {
	schemas := map[string]*jsonschema.Resolved{}
	ok := t.Run("published schemas", func(t *testing.T) {
		for _, r := range Revisions() {
			schemas[r.String()] = readPublished(t, r.String()).resolve(t)
		}
		schemas["ext-tasks"] = readPublished(t, "ext-tasks").resolve(t)
	})
	if !ok || len(schemas) < len(Revisions())+1 {
		return nil
	}
	return schemas
}

var resultDefs = map[string]string{
	"initialize": "InitializeResult", "server/discover": "DiscoverResult", "ping": "EmptyResult",
	"tools/list": "ListToolsResult", "tools/call": "CallToolResult", "prompts/list": "ListPromptsResult", "prompts/get": "GetPromptResult",
	"resources/list": "ListResourcesResult", "resources/templates/list": "ListResourceTemplatesResult", "resources/read": "ReadResourceResult",
	"resources/subscribe": "EmptyResult", "resources/unsubscribe": "EmptyResult", "logging/setLevel": "EmptyResult",
	"completion/complete": "CompleteResult", "subscriptions/listen": "SubscriptionsListenResult",
	"tasks/get": "GetTaskResult", "tasks/update": "UpdateTaskResult", "tasks/cancel": "CancelTaskResult",
}

var messageDefs = map[string]string{
	"notifications/cancelled": "CancelledNotification", "notifications/progress": "ProgressNotification", "notifications/message": "LoggingMessageNotification",
	"notifications/tools/list_changed": "ToolListChangedNotification", "notifications/prompts/list_changed": "PromptListChangedNotification",
	"notifications/resources/list_changed": "ResourceListChangedNotification", "notifications/resources/updated": "ResourceUpdatedNotification",
	"notifications/subscriptions/acknowledged": "SubscriptionsAcknowledgedNotification", "notifications/tasks": "TaskStatusNotification",
	"elicitation/create": "ElicitRequest", "sampling/createMessage": "CreateMessageRequest", "roots/list": "ListRootsRequest",
}

// check holds a message of the server's against the published schemas.
func (s *stage) check(line json.RawMessage) {
	if strings.Contains(string(line), "swordfish") {
		s.t.Errorf("what is for the log only was sent: %s", line)
	}
	if s.schemas == nil {
		return
	}
	var m any
	if err := jsonv2.Unmarshal(line, &m); err != nil {
		s.t.Errorf("not JSON: %s: %v", line, err)
		return
	}
	batch, ok := m.([]any)
	if !ok {
		batch = []any{m}
	}
	for _, m := range batch {
		if err := s.judge(m.(map[string]any)); err != nil {
			s.t.Errorf("%s: %v", line, err)
		}
	}
}

func (s *stage) judge(m map[string]any) error {
	id, _ := jsonv2.Marshal(m["id"])
	a := s.asked[string(id)]
	r := cmp.Or(a.revision, s.session)
	fits := func(schema, def string, v any) error {
		if err := s.schemas[schema].Validate(map[string]any{def: v}); err != nil {
			return fmt.Errorf("not a %s of %s: %w", def, schema, err)
		}
		return nil
	}
	if method, ok := m["method"].(string); ok {
		def, ok := messageDefs[method]
		if !ok {
			return fmt.Errorf("method %q is none that a server has", method)
		}
		if params, _ := m["params"].(map[string]any); params != nil {
			if meta, _ := params["_meta"].(map[string]any); meta[metaSubscription] != nil {
				r = LatestRevision
			}
		}
		if method == "notifications/tasks" {
			return fits("ext-tasks", def, m)
		}
		return fits(r.String(), def, m)
	}
	if e, ok := m["error"].(map[string]any); ok {
		def := "JSONRPCErrorResponse"
		if !r.errorWithoutID() {
			def = "JSONRPCError"
			if m["id"] == nil { // no published schema of these has room for it
				m["id"] = 0
			}
		}
		if r.Stateless() {
			switch e["code"] {
			case float64(CodeUnsupportedVersion):
				def = "UnsupportedProtocolVersionError"
			case float64(CodeMissingCapability):
				def = "MissingRequiredClientCapabilityError"
			}
		}
		return fits(r.String(), def, m)
	}
	res, ok := m["result"].(map[string]any)
	if !ok || a.method == "" {
		return fmt.Errorf("a result to what was not asked, or no object")
	}
	schema, def := r.String(), cmp.Or(resultDefs[a.method], "Result")
	switch {
	case strings.HasPrefix(a.method, "tasks/"):
		schema = "ext-tasks"
		if inner, ok := res["result"]; ok {
			if err := fits(r.String(), "CallToolResult", inner); err != nil {
				return err
			}
		}
	case res["resultType"] == "input_required":
		def = "InputRequiredResult"
	case res["resultType"] == "task":
		schema, def = "ext-tasks", "CreateTaskResult"
	}
	if !r.Stateless() {
		for _, modern := range []string{"resultType", "ttlMs", "cacheScope"} {
			if _, ok := res[modern]; ok {
				return fmt.Errorf("%s in a result of %v", modern, r)
			}
		}
	} else if meta, _ := res["_meta"].(map[string]any); meta[metaServerInfo] == nil || res["resultType"] == nil {
		return fmt.Errorf("a result without resultType or serverInfo")
	}
	envelope := "JSONRPCResultResponse"
	if r < R20251125 {
		envelope = "JSONRPCResponse"
	}
	if err := fits(r.String(), envelope, m); err != nil {
		return err
	}
	return fits(schema, def, res)
}
