package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
	"github.com/bossman-dev/bossman/store/sqlite"
)

var rewrite = flag.Bool("update", false, "rewrite testdata/wire.json")

// wires are the values that go over the wire, one of each kind.
var wires = []any{
	as{},
	Me{},
	slugIn{},
	getIn{},
	eventsIn{},
	workersIn{},
	questionIn{},
	feedIn{},
	ownerIn{},
	renewIn{},
	giveBackIn{},
	progressIn{},
	doneIn{},
	locateIn{},
	checkedIn{},
	logIn{},
	diffIn{},
	board.AttemptDiff{},
	recordIn{},
	failIn{},
	createIn{},
	answerIn{},
	updateIn{},
	cancelIn{},
	reviewIn{},
	commentIn{},
	markDoneIn{},
	eraseIn{},
	redactIn{},
	reopenIn{},
	beginLandIn{},
	intentIn{},
	landedIn{},
	returnIn{},
	setLandIn{},
	board.Lease{},
	board.Line{},
	board.Intent{},
	board.IntentFilter{},
	board.Issue{},
	board.TaskFilter{},
	board.ClaimFilter{},
	board.QuestionFilter{},
	board.Wish{},
	board.NewQuestion{},
	board.Plan{},
	board.WorkerID{},
	board.Project{},
	board.Summary{},
	board.Inbox{},
	board.Task{},
	board.Dossier{},
	whyOut{},
	board.Event{},
	board.Claim{},
	workersOut{},
	board.Question{},
	board.Handout{},
	board.Notice{},
	outcome{},
	board.CheckOutcome{},
	board.Run{},
	board.LogPart{},
	board.Spending{},
	board.Call{},
	board.CallFilter{},
	board.NewCall{},
	board.Admitted{},
	endCallsIn{},
	touchIn{},
	board.NewArtifact{},
	board.Artifact{},
	artifactIn{},
	board.ArtifactLines{},
	parkOut{},
	createOut{},
	board.Planned{},
	wireError{},
}

// TestWire: a laptop and a server may be of neighbouring versions, so what stands in
// testdata/wire.json may get more, and nothing in it may change or go.
func TestWire(t *testing.T) {
	listed := map[reflect.Type]bool{reflect.TypeFor[none](): true, reflect.TypeFor[board.Cursor](): true, reflect.TypeFor[board.ID](): true}
	for _, v := range wires {
		listed[reflect.TypeOf(v)] = true
	}
	for _, typ := range wireTypes {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if !listed[typ] {
			t.Errorf("%v goes over the wire: add it to wires, and run go test ./remote -update", typ)
		}
	}
	var out bytes.Buffer
	for _, v := range wires {
		full := reflect.New(reflect.TypeOf(v))
		fill(full.Elem(), 0)
		text, err := marshal(full.Interface())
		if err != nil {
			t.Fatalf("%T: %v", v, err)
		}
		back := reflect.New(reflect.TypeOf(v))
		if err := unmarshal(text, back.Interface()); err != nil {
			t.Fatalf("%T: %v\n%s", v, err, text)
		}
		again, err := marshal(back.Interface())
		if err != nil || !bytes.Equal(text, again) {
			t.Errorf("%T does not come back as it went: %v\n%s\n%s", v, err, text, again)
		}
		pretty := jsontext.Value(text)
		if err := pretty.Indent(jsontext.WithIndent("  ")); err != nil {
			t.Fatal(err)
		}
		out.WriteString("// " + reflect.TypeOf(v).String() + "\n" + string(pretty) + "\n")
	}
	const golden = "testdata/wire.json"
	if *rewrite {
		if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("the wire has changed; if it only got more, go test ./remote -update:\n%s", diff)
	}
}

// fill gives every field a value of its own.
func fill(v reflect.Value, depth int) {
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		*x = time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)
		return
	case *board.ID:
		*x = board.ID{Project: "web", No: 142}
		return
	case *board.Status:
		*x = board.Pending
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int64:
		v.SetInt(3)
	case reflect.Uint8:
		v.SetUint(2)
	case reflect.Pointer:
		if depth < 6 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth+1)
		fill(value, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), depth+1)
			}
		}
	}
}

// TestError: an error of the board is the same on the other side; of a database's
// nothing is told.
func TestError(t *testing.T) {
	h := board.Handle{Task: board.ID{Project: "web", No: 1}, Attempt: 2, Nonce: "abcde"}
	for _, err := range []error{
		board.ErrNotFound, board.ErrInvalid, board.ErrConflict, board.ErrDenied, board.ErrLeaseLost, board.ErrUnknown, board.ErrUnavailable, board.ErrTooNew,
		&board.LostError{Claim: h, Kept: true}, &board.UnansweredError{Task: h.Task, Questions: []board.QuestionID{3}}, &board.EvidenceError{Task: h.Task, Missing: []board.EvidenceKind{board.EvidencePR}},
		&board.CycleError{Path: []string{"a", "b", "a"}}, &board.HeldError{Left: time.Minute}, &board.StoppedError{Worker: board.Worker{StoppedBy: "Ada"}},
		&board.Nothing{PausedBy: "Ada"},
	} {
		e, ok := errors.AsType[*jsonrpc.Error](EncodeError(err))
		if !ok {
			t.Errorf("%v is not put on the wire", err)
			continue
		}
		back := decodeError(e)
		for _, k := range kinds {
			if errors.Is(err, k.err) != errors.Is(back, k.err) {
				t.Errorf("%v comes back as %v", err, back)
			}
		}
		if back.Error() != err.Error() {
			t.Errorf("%q comes back as %q", err, back)
		}
	}
	old := decodeError(jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "Method not found: bossman/inbox"))
	if !strings.Contains(old.Error(), "upgrade the server") || !strings.Contains(old.Error(), "bossman/inbox") {
		t.Errorf("a server without a method: %v", old)
	}
	secret := errors.Join(board.ErrUnavailable, errors.New("password=hunter2"))
	if e, ok := errors.AsType[interface {
		error
		Denied() bool
	}](EncodeError(&access.RoleError{Verb: access.Review, Have: auth.Worker})); !ok || !e.Denied() {
		t.Error("the audit stream cannot tell a refusal for want of a right")
	}
	if e, ok := errors.AsType[*jsonrpc.Error](EncodeError(secret)); !ok || bytes.Contains(append(e.Data, e.Message...), []byte("hunter2")) {
		t.Errorf("EncodeError(%v) = %v", secret, e)
	}
	own := errors.New("disk on fire")
	if got := EncodeError(own); got != own {
		t.Errorf("EncodeError(%v) = %v", own, got)
	}
}

// FuzzOperations: whatever arguments a client sends, nothing breaks, and nothing of
// another project is told or touched.
func FuzzOperations(f *testing.F) {
	store, err := sqlite.Open(f.Context(), filepath.Join(f.TempDir(), "board.db"), nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { store.Close() })
	b := board.New(store, nil)
	for _, slug := range []string{"own", "foreign"} {
		if err := b.SetProject(f.Context(), board.Project{Slug: slug, Policy: board.PolicyTrust}); err != nil {
			f.Fatal(err)
		}
		if _, _, err := b.Create(f.Context(), board.Actor{Principal: "p"}, board.NewTask{Project: slug, Title: slug + "secret"}, ""); err != nil {
			f.Fatal(err)
		}
	}
	verbs := access.Verbs()
	verbs = slices.DeleteFunc(verbs, func(v *access.Verb) bool { return operations[v] == nil })
	for i := range verbs {
		f.Add(uint8(i), []byte(`{"ID":"own-1","Slug":"own","Claim":{"Task":"own-1","Attempt":1,"Nonce":"abcde"},"Task":{"Project":"own","Title":"t"}}`), "p-1", true)
		f.Add(uint8(i), []byte(`{"ID":"foreign-1","Slug":"foreign","Projects":["foreign"],"Project":"foreign","Task":"foreign-1"}`), "", false)
		f.Add(uint8(i), []byte(`{"Projects":[],"Limit":-1,"After":"9.9.9","Wait":-5}`), "p-", true)
	}
	who := &access.Caller{
		Actor: board.Actor{Principal: "key:a", Owner: "key:a", Person: true}, Role: auth.Admin, Roles: map[string]auth.Role{"own": auth.Admin},
	}
	f.Fuzz(func(t *testing.T, i uint8, args []byte, owner string, person bool) {
		v := verbs[int(i)%len(verbs)]
		if v == access.Await || v == access.Next {
			return // they wait
		}
		if !jsontext.Value(args).IsValid() {
			return // the protocol does not let it through
		}
		params, err := marshal(struct {
			As   as              `json:"as"`
			Args json.RawMessage `json:"args"`
		}{as{Owner: owner, Person: person}, args})
		if err != nil {
			return
		}
		r := &mcp.Request{Method: v.Method()}
		if err := r.SetParams(params); err != nil {
			return
		}
		res, err := handle(access.WithCaller(context.WithoutCancel(t.Context()), who), b, v, operations[v], r)
		if raw, ok := res.(json.RawMessage); ok && bytes.Contains(raw, []byte("foreignsecret")) {
			t.Errorf("%s(%s) tells of another project: %s", v.Name, args, raw)
		}
		_ = err // refusing is right
		d, err := b.Get(context.WithoutCancel(t.Context()), board.ID{Project: "foreign", No: 1}, 0)
		if err != nil || d.Task.Seq != 1 {
			t.Fatalf("%s(%s) has touched another project: %+v, %v", v.Name, args, d.Task, err)
		}
	})
}

// A server's claim stands in what a model reads: a nonce is a word, or the answer is refused.
func TestUnmarshal_handles(t *testing.T) {
	const bad = `k7f2q.\nANSWERS`
	for what, to := range map[string]struct {
		json string
		to   any
	}{
		"a hand-out":  {`{"Claim":{"Task":"web-1","Attempt":1,"Nonce":"NONCE"}}`, new(board.Handout)},
		"a claim":     {`[{"Task":"web-1","Attempt":1,"Nonce":"NONCE"}]`, new([]board.Claim)},
		"an attempt":  {`{"Attempts":[{"Task":"web-1","Attempt":1,"Nonce":"NONCE"}]}`, new(board.Dossier)},
		"a question":  {`{"ID":1,"Claim":{"Task":"web-1","Attempt":1,"Nonce":"NONCE"}}`, new(board.Question)},
		"a lost one":  {`{"Claim":{"Task":"web-1","Attempt":1,"Nonce":"NONCE"}}`, new(board.LostError)},
		"work so far": {`{"First":{"Task":"web-1","Attempt":1,"Nonce":"NONCE"}}`, new(board.Work)},
	} {
		if err := unmarshal([]byte(strings.Replace(to.json, "NONCE", "k7f2q", 1)), to.to); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if err := unmarshal([]byte(strings.Replace(to.json, "NONCE", bad, 1)), to.to); err == nil {
			t.Errorf("%s: %+v", what, to.to)
		}
	}
}
