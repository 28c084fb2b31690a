package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/mcp/streamable"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rogpeppe/go-internal/testscript"
)

// build builds the servers of this module that scripts talk to.
func build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, pkg := range map[string]string{"add": "../../examples/add", "features": "../../internal/conformance/server"} {
		if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, name), pkg).CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", pkg, err, out)
		}
	}
	return dir
}

// freeAddress is one that nobody listens at.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// listening waits until a server listens at an address.
func listening(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: listening ADDR")
	}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		if c, err := net.DialTimeout("tcp", args[0], time.Second); err == nil {
			_ = c.Close()
			return
		}
		time.Sleep(10 * time.Millisecond) // there is nothing to be told by
	}
	ts.Fatalf("nobody listens at %s", args[0])
}

// fixture is a server that misbehaves, each tool in its own way.
func fixture() int {
	addr := flag.String("http", "", "where to serve")
	key := flag.String("key", "", "what clients must know")
	flag.Parse()
	fmt.Fprintln(os.Stderr, "fixture begins")
	s := mcp.NewServer(mcp.Implementation{Name: "fixture\x1b[31m", Version: "1"}, nil)
	defer s.Close()
	tool := func(name, description, schema string, h func(context.Context, *mcp.Call) (*mcp.ToolResult, error)) {
		s.AddRawTool(mcp.Tool{Name: name, Description: description, InputSchema: []byte(schema)}, h)
	}
	const none = `{"type":"object"}`
	say := func(text string) (*mcp.ToolResult, error) {
		return &mcp.ToolResult{Content: []mcp.Content{mcp.Text(text)}}, nil
	}
	tool("escape", "Red \x1b[31m and \u202ebackwards.", none, func(context.Context, *mcp.Call) (*mcp.ToolResult, error) {
		return say("a\x1b]0;title\x07b\u202ec\r\nsecond")
	})
	tool("die", "End in the middle.", none, func(context.Context, *mcp.Call) (*mcp.ToolResult, error) {
		fmt.Fprintln(os.Stderr, "fixture: no more memory")
		os.Exit(7)
		return nil, nil
	})
	tool("hang", "Wait to be cancelled.", none, func(ctx context.Context, c *mcp.Call) (*mcp.ToolResult, error) {
		c.Progress(1, 2, "begun\x1b[2J")
		<-ctx.Done()
		fmt.Fprintln(os.Stderr, "fixture was cancelled")
		return nil, ctx.Err()
	})
	tool("ask", "Ask the person.", none, func(_ context.Context, c *mcp.Call) (*mcp.ToolResult, error) {
		r, err := c.Elicit("q", &mcp.ElicitParams{Message: "Who are you?", RequestedSchema: []byte(`{"type":"object","required":["name","colour"],"properties":{` +
			`"name":{"type":"string","description":"Your name"},"age":{"type":"integer"},"sure":{"type":"boolean","default":true},` +
			`"colour":{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"b","title":"Blue"}]}}}`)})
		if err != nil {
			return nil, err
		}
		return say(r.Action + " " + string(r.Content))
	})
	tool("env", "Tell the environment.", none, func(context.Context, *mcp.Call) (*mcp.ToolResult, error) {
		env := os.Environ()
		slices.Sort(env)
		return say(strings.Join(env, "\n") + "\n" + strings.Join(os.Args[1:], "|"))
	})
	tool("echo", "Say the arguments.", `{"type":"object","additionalProperties":false,"properties":{"text":{"type":"string"},"n":{"type":["integer","null"]},`+
		`"yes":{"type":"boolean"},"list":{"type":"array","items":{"type":"number"}},"any":{}}}`, func(_ context.Context, c *mcp.Call) (*mcp.ToolResult, error) {
		return say(string(c.Arguments()))
	})
	tool("refuse", "Fail in two lines.", none, func(context.Context, *mcp.Call) (*mcp.ToolResult, error) {
		return nil, &jsonrpc.Error{Code: -32000, Message: "no\nbossman: all is well"}
	})
	tool("save", "Send a file.", none, func(context.Context, *mcp.Call) (*mcp.ToolResult, error) {
		return &mcp.ToolResult{Content: []mcp.Content{
			mcp.Embed(mcp.Contents{URI: "file:///../../etc/evil.sh", MIMEType: "text/plain", Blob: []byte("x")}),
			mcp.Link(mcp.Resource{URI: "docs://a", Name: "A", Description: "The docs"}),
		}, StructuredContent: []byte(`{"b":1,"a":[]}`)}, nil
	})
	if *addr == "" {
		_ = s.Serve(context.Background(), mcp.Stdio())
		return 0
	}
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	h := streamable.NewHandler(s, &streamable.Options{Authenticate: func(r *http.Request) (mcp.Principal, error) {
		if *key != "" && r.Header.Get("X-Key") != *key {
			return mcp.Principal{}, &streamable.AuthError{Text: "no key"}
		}
		return mcp.Principal{ID: "local"}, nil
	}})
	_ = streamable.Serve(context.Background(), l, h)
	return 0
}

// Values are read as the schema wants them, and stay text where text is allowed.
func TestArguments(t *testing.T) {
	f := readForm([]byte(`{"properties":{
		"s":{"type":"string"}, "n":{"type":"number"}, "i":{"type":"integer"}, "b":{"type":"boolean"}, "o":{"type":"object"},
		"l":{"type":"array","items":{"type":"integer"}}, "t":{"type":"array","items":{"type":"string"}}, "sn":{"type":["string","number"]},
		"u":{"anyOf":[{"type":"integer"},{"type":"null"}]}, "e":{"enum":[1,2]}, "r":{"$ref":"#/$defs/a~1b"}, "a":{"allOf":[{"$ref":"#/$defs/o"}],"description":"x"},
		"ru":{"anyOf":[{"$ref":"#/$defs/a~1b"},{"type":"null"}]}, "loop":{"$ref":"#/$defs/loop"}, "none":{"$ref":"#/$defs/none"}},
		"$defs":{"a/b":{"type":"integer"}, "o":{"type":"object"}, "loop":{"anyOf":[{"$ref":"#/$defs/loop"},{"$ref":"#/$defs/loop"}]}}}`))
	for _, tt := range []struct{ words, want string }{
		{"s=2", `{"s":"2"}`},
		{"s=", `{"s":""}`},
		{"s=a=b", `{"s":"a=b"}`},
		{"n=2.5", `{"n":2.5}`},
		{"n=1e3", `{"n":1e3}`},
		{"n=x", "!n wants a number"},
		{"n=", "!n wants a number"},
		{"n=NaN", "!n wants a number"},
		{"i=2.0", `{"i":2.0}`},
		{"i=2.5", "!i wants an integer"},
		{"b=true", `{"b":true}`},
		{"b=yes", "!b wants a boolean"},
		{`o={"a":1}`, `{"o":{"a":1}}`},
		{"o=[1]", "!o wants an object"},
		{"l=[1,2]", `{"l":[1,2]}`},
		{"l=1 l=2", `{"l":[1,2]}`},
		{"l=x", "!l wants an integer list"},
		{"t=a t=b", `{"t":["a","b"]}`},
		{"sn=2", `{"sn":"2"}`},
		{"u=2", `{"u":2}`},
		{"u=null", `{"u":null}`},
		{"e=2", `{"e":2}`},
		{"r=2", `{"r":2}`},
		{"r=x", "!r wants an integer"},
		{"ru=2", `{"ru":2}`},
		{`a={"x":1}`, `{"a":{"x":1}}`},
		{"loop=2", `{"loop":"2"}`},
		{"none=2", `{"none":"2"}`},
		{"new=2", `{"new":"2"}`},
		{`new:={"a":[1]}`, `{"new":{"a":[1]}}`},
		{"s:=2", `{"s":2}`},
		{"s:=x", "!wants JSON"},
		{"s=1 s=2", "!s is given twice"},
		{"s", "!is no argument"},
		{"=x", "!is no argument"},
	} {
		got := map[string]jsontext.Value{}
		err := f.arguments(got, strings.Fields(tt.words))
		if want, bad := strings.CutPrefix(tt.want, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), want) || console.CodeOf(err) != console.Usage {
				t.Errorf("%s: %v, want %s", tt.words, err, want)
			}
			continue
		}
		text, _ := json.Marshal(got)
		if err != nil || string(text) != tt.want {
			t.Errorf("%s = %s, %v; want %s", tt.words, text, err, tt.want)
		}
	}
}

// Schemas that are wrong, or none at all, do no harm.
func FuzzForm(f *testing.F) {
	f.Add(`{"properties":{"a":{"type":["string"],"enum":["x"],"enumNames":["X"]},"b":{"items":{"anyOf":[{"const":"y","title":"Y"}]}}},"required":["a"]}`, "a=1")
	f.Add(`{"properties":[]}`, "a:=1")
	f.Add(`{"properties":{"a":{"anyOf":[{"anyOf":[{}]}],"default":[1]}}}`, "a=")
	f.Add(`{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"allOf":[{"$ref":"#/properties/a"}]}}}`, "a=1")
	f.Fuzz(func(t *testing.T, schema, word string) {
		form := readForm([]byte(schema))
		args := map[string]jsontext.Value{}
		if form.arguments(args, []string{word}) == nil {
			_ = form.check(args)
			if _, err := json.Marshal(args); err != nil && strings.ToValidUTF8(word, "") == word {
				t.Errorf("%s: %v", word, err)
			}
		}
		for _, p := range form.Fields {
			if text := p.prompt(); console.Escape(text) != text {
				t.Errorf("prompt %q", text)
			}
			_, _ = p.answer(word)
		}
	})
}

func TestFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	f := files{dir: dir}
	for _, tt := range []struct{ name, mime, want string }{
		{"tool", "image/png", "tool.png"},
		{"tool", "image/png; q=1", "tool-2.png"},
		{"logo.png", "image/png", "logo.png"},
		{"../../etc/passwd", "application/x-sh", "etc-passwd.bin"},
		{"..", "", "file.bin"},
		{"a\x00\x1b/b", "audio/WAV", "a---b.wav"},
		{strings.Repeat("x", 500), "", strings.Repeat("x", longestName) + ".bin"},
	} {
		path, err := f.write(tt.name, tt.mime, []byte("x"))
		if err != nil || path != filepath.Join(dir, tt.want) {
			t.Errorf("write(%q) = %s, %v; want %s", tt.name, path, err, tt.want)
		}
	}
	// What is there stays, also behind a link.
	if err := os.Symlink("/nowhere/at/all", filepath.Join(dir, "link.bin")); err != nil {
		t.Fatal(err)
	}
	if path, err := f.write("link", "", []byte("x")); err != nil || filepath.Base(path) != "link-2.bin" {
		t.Errorf("write(link) = %s, %v", path, err)
	}
}

func TestNear(t *testing.T) {
	names := []string{"get-sum", "get-env", "echo", "trigger-long-running-operation"}
	for name, want := range map[string]string{
		"get-sun": "get-sum", "getsum": "get-sum", "Echo": "echo", "long": "trigger-long-running-operation", "nothing": "", "": "",
	} {
		if got := strings.Join(near(name, names)[:min(1, len(near(name, names)))], ""); got != want {
			t.Errorf("near(%s) = %s, want %s", name, got, want)
		}
	}
}

func TestShellWords(t *testing.T) {
	words := []string{"npx", "-y", "@a/b", "it's", "a b", "", "$(x)", "é"}
	if got, want := shellWords(words), `npx -y @a/b 'it'\''s' 'a b' '' '$(x)' 'é'`; got != want {
		t.Errorf("shellWords = %s, want %s", got, want)
	}
}

// What a tool says twice is printed once, with its numbers as they are.
func TestToldTwice(t *testing.T) {
	for _, tt := range []struct {
		structured string
		texts      []string
		want       int
	}{
		{`{"b":1,"a":[]}`, []string{`{"a": [], "b": 1}`}, inStructured},
		{`{"content":"a\nb"}`, []string{"a\nb"}, inText},
		{`{"result":[{"a":1,"b":2}]}`, []string{`[{"b":2, "a":1}]`}, inText},
		{`{"result":["a","b"]}`, []string{"a", "b"}, inText},
		{`{"result":5}`, []string{"5"}, inText},
		{`{"sum":5}`, []string{"The sum is 5"}, once},
		{`{"a":"x","b":"y"}`, []string{"x"}, once},
		{`{"a":[]}`, nil, once},
		{``, []string{"x"}, once},
	} {
		var content []mcp.Content
		for _, text := range tt.texts {
			content = append(content, mcp.Text(text))
		}
		if got := toldTwice(content, jsontext.Value(tt.structured)); got != tt.want {
			t.Errorf("toldTwice(%q, %s) = %d, want %d", tt.texts, tt.structured, got, tt.want)
		}
	}
	if got, want := indented(jsontext.Value(`{"z":9007199254740993,"a":1.10}`)), "{\n  \"z\": 9007199254740993,\n  \"a\": 1.10\n}"; got != want {
		t.Errorf("indented = %s, want %s", got, want)
	}
}
