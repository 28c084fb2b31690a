package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp/replica"
)

// Closing the server is no failure of ours: the task says what became of it,
// and the log stays empty.
func TestClose_whileATaskRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := NewServer(Implementation{Name: "test", Version: "1"}, &ServerOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		AddTool(s, Tool{Name: "wait", Description: "Wait.", Tasks: TaskOptional}, func(_ context.Context, c *Call, _ struct{}) (string, error) {
			return AsTask(c, func(ctx context.Context, _ *Call) (string, error) {
				<-ctx.Done()
				return "", context.Cause(ctx)
			})
		})
		ask := func(method, params string) (task struct {
			TaskID, Status string
			Error          struct{ Message string }
		},
		) {
			t.Helper()
			params = `{` + params + `,"_meta":{"` + metaVersion + `":"2026-07-28","` + metaCapabilities + `":{"extensions":{"` + tasksExtension + `":{}}}}}`
			r := newRequest(&jsonrpc.Message{Method: method, Params: json.RawMessage(params)}, Principal{ID: "local"}, nil)
			if err := s.prepare(r); err != nil {
				t.Fatal(err)
			}
			b, err := s.handle(t.Context(), r, nil)
			if err == nil {
				err = jsonv2.Unmarshal(b, &task, jsonv2.MatchCaseInsensitiveNames(true))
			}
			if err != nil {
				t.Fatalf("%s: %v", method, err)
			}
			return task
		}

		id := ask("tools/call", `"name":"wait","arguments":{}`).TaskID
		synctest.Wait()
		s.Close()
		got := ask("tasks/get", `"taskId":"`+id+`"`)
		if got.Status != string(replica.TaskFailed) || !strings.Contains(got.Error.Message, "the server shut down") {
			t.Errorf("after Close the task is %+v, want it failed because the server shut down", got)
		}
		if log.Len() > 0 {
			t.Errorf("Close logged %s", &log)
		}
	})
}

// A task ends with the access of its principal, and is not found by a request of the same
// principal with other rights.
func TestDurable_rights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(Implementation{Name: "test", Version: "1"}, nil)
		defer s.Close()
		AddTool(s, Tool{Name: "wait", Description: "Wait.", Tasks: TaskOptional}, func(_ context.Context, c *Call, _ struct{}) (string, error) {
			return AsTask(c, func(ctx context.Context, c *Call) (string, error) { return Ask[string](c, "name", "name") })
		})
		revoked := make(chan struct{})
		ask := func(rights, method, params string) string {
			params = `{` + params + `,"_meta":{"` + metaVersion + `":"2026-07-28","` + metaCapabilities + `":{"elicitation":{"form":{}},"extensions":{"` + tasksExtension + `":{}}}}}`
			r := newRequest(&jsonrpc.Message{Method: method, Params: json.RawMessage(params)}, Principal{ID: "ada", Rights: rights, Revoked: revoked}, nil)
			if err := s.prepare(r); err != nil {
				t.Fatal(err)
			}
			b, err := s.handle(t.Context(), r, nil)
			if err != nil {
				return err.Error()
			}
			return string(b)
		}
		var made struct {
			TaskID string `json:"taskId"`
		}
		if err := jsonv2.Unmarshal([]byte(ask("write", "tools/call", `"name":"wait","arguments":{}`)), &made); err != nil {
			t.Fatal(err)
		}
		task := `"taskId":"` + made.TaskID + `"`
		synctest.Wait()
		if got := ask("write", "tasks/get", task); !strings.Contains(got, string(replica.TaskInputRequired)) {
			t.Errorf("the task is %s", got)
		}
		for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/update"} {
			got := ask("read", method, task+`,"inputResponses":{"name":{"action":"accept","content":{"value":"eve"}}}`)
			if !strings.Contains(got, "unknown task") {
				t.Errorf("%s with other rights: %s", method, got)
			}
		}
		close(revoked)
		synctest.Wait()
		if got := ask("write", "tasks/get", task); !strings.Contains(got, `"status":"failed"`) || !strings.Contains(got, "has ended or changed") {
			t.Errorf("after the end of access the task is %s", got)
		}
	})
}
