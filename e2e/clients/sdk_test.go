package clients

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// A sdk is a way an SDK can connect: a script, its arguments, and the revision
// that should come out.
type sdk struct {
	name, script string
	mode         []string
	revision     string
}

var sdks = []sdk{
	{"v1", "sdk1.mjs", nil, legacy},
	{"v2-legacy", "sdk2.mjs", []string{"legacy"}, legacy},
	{"v2-auto", "sdk2.mjs", []string{"auto"}, modern},
	{"v2-pinned", "sdk2.mjs", []string{"pin"}, modern},
}

func TestSDK_add(t *testing.T) {
	for _, sdk := range sdks {
		t.Run(sdk.name, func(t *testing.T) {
			t.Parallel()
			got, rec := script(t, pipe(harness.AddServer), sdk.script, append([]string{"add"}, sdk.mode...)...)
			negotiated(t, got, sdk.revision)
			compare(t, got, "add")
			spoke(t, rec, sdk.revision, "tools/list")
			ended(t, rec, rec.Called(t, "add"))
		})
	}
}

func TestSDK_features(t *testing.T) {
	for _, sdk := range sdks {
		t.Run(sdk.name, func(t *testing.T) {
			t.Parallel()
			rec := sdkFeatures(t, pipe(harness.FeaturesServer), sdk)
			ended(t, rec, rec.Called(t, "slow_compute"))
		})
	}
}

func sdkFeatures(t *testing.T, server server, sdk sdk) *harness.Record {
	t.Helper()
	got, rec := script(t, server, sdk.script, append([]string{"features"}, sdk.mode...)...)
	negotiated(t, got, sdk.revision)
	compare(t, got, "features")
	compare(t, got, "asking")
	if sdk.revision == modern {
		compare(t, got, "stateless")
	} else {
		compare(t, got, "handshake")
	}
	spoke(t, rec, sdk.revision, "prompts/get")
	progressed(t, rec)
	refused(t, rec, map[string]int{legacy: -32002, modern: -32602}[sdk.revision])
	if slow := rec.Called(t, "slow_compute"); slow.Answered {
		t.Errorf("the cancelled call was answered: %s%s", slow.Result, slow.Error)
	}
	return rec
}

func TestSDK_tasks(t *testing.T) {
	t.Parallel()
	sdkTasks(t, pipe(harness.FeaturesServer))
}

func sdkTasks(t *testing.T, server server) {
	t.Helper()
	got, rec := script(t, server, "sdk2.mjs", "tasks", "pin")
	negotiated(t, got, modern)
	compare(t, got, "tasks")
	spoke(t, rec, modern, "tasks/update")
}

// script runs one of the scripts beside this file and reads its summary.
func script(t *testing.T, server server, name string, args ...string) (map[string]any, *harness.Record) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	argv, rec := server(t)
	argv = append(append([]string{packages.Bin("node"), filepath.Join(packages.Dir, name)}, args...), argv...)
	out := harness.Run(t, harness.Command(ctx, harness.Home(t), argv...))
	if out.Code != 0 {
		t.Fatalf("%s: exit code %d", name, out.Code)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(out.Stdout), &got); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return got, rec
}

// negotiated shows which revision the client believes it speaks. SDK v1 does
// not say.
func negotiated(t *testing.T, got map[string]any, revision string) {
	t.Helper()
	if v, ok := got["negotiated"]; ok && v != revision {
		t.Errorf("negotiated = %v, want %s", v, revision)
	}
}

// compare holds a part of the summary against testdata, field by field.
func compare(t *testing.T, got map[string]any, part string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", part+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatalf("testdata/%s.json: %v", part, err)
	}
	fields, _ := got[part].(map[string]any)
	for name := range want {
		if !reflect.DeepEqual(fields[name], want[name]) {
			t.Errorf("%s.%s = %s, want %s", part, name, text(fields[name]), text(want[name]))
		}
	}
	for name := range fields {
		if _, ok := want[name]; !ok {
			t.Errorf("%s.%s = %s, want nothing of that name", part, name, text(fields[name]))
		}
	}
}

// progressed shows that the server sent its three steps in order, and that it began
// with the call that was cancelled.
func progressed(t *testing.T, rec *harness.Record) {
	t.Helper()
	var steps []float64
	for _, params := range rec.Notified(t, "notifications/progress") {
		var p struct{ Progress float64 }
		if err := json.Unmarshal(params, &p); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, p.Progress)
	}
	if want := []float64{0, 50, 100, 0}; !reflect.DeepEqual(steps, want) {
		t.Errorf("progress = %v, want %v", steps, want)
	}
}

// refused shows the code with which an unknown resource was refused. It is read
// off the pipe, because SDK v2 shows its caller -32602 for both codes.
func refused(t *testing.T, rec *harness.Record, code int) {
	t.Helper()
	for _, e := range rec.Exchanges(t) {
		if e.Method != "resources/read" || e.Error == nil {
			continue
		}
		var got struct{ Code int }
		if err := json.Unmarshal(e.Error, &got); err != nil || got.Code != code {
			t.Errorf("an unknown resource gave %s, want code %d", e.Error, code)
		}
		return
	}
	t.Error("no resources/read was refused")
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
