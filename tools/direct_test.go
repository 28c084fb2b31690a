package tools_test

import (
	"bufio"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/jsonrpc"
	"github.com/bossman-dev/bossman/mcp"
)

// TestDirect calls the three plain JSON-RPC methods without a handshake.
func TestDirect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFixture(t, web, setup{}, mcp.LatestRevision)
		server := mcp.NewServer(mcp.Implementation{Name: "bossman", Version: "test"}, nil)
		register(server, s.b, setup{Piped: true, Project: "web"})
		in, to := io.Pipe()
		from, out := io.Pipe()
		served := make(chan error, 1)
		go func() { served <- server.Serve(t.Context(), jsonrpc.Lines(in, out, jsonrpc.Limits{})) }()
		lines := bufio.NewReader(from)
		defer func() {
			_ = to.Close()
			if err := <-served; err != nil {
				t.Error(err)
			}
		}()
		say := func(request, want string) {
			t.Helper()
			if _, err := io.WriteString(to, request+"\n"); err != nil {
				t.Fatal(err)
			}
			got, err := lines.ReadString('\n')
			if err != nil || strings.TrimSpace(got) != want {
				t.Fatalf("%s\n got %s%v\nwant %s", request, got, err, want)
			}
		}
		say(`{"jsonrpc":"2.0","method":"getNextTask","id":1}`, `{"jsonrpc":"2.0","id":1,"result":null}`)
		if _, _, err := s.b.Create(t.Context(), ada, board.NewTask{Project: "web", Title: "Add authentication", Description: "Step 1"}, ""); err != nil {
			t.Fatal(err)
		}
		task := `{"id":"web-1","title":"Add authentication","description":"Step 1","status":"pending"}`
		say(`{"jsonrpc":"2.0","method":"getNextTask","params":{},"id":"two"}`, `{"jsonrpc":"2.0","id":"two","result":`+task+`}`)
		// A second call returns the task it holds.
		say(`{"jsonrpc":"2.0","method":"getNextTask","id":3}`, `{"jsonrpc":"2.0","id":3,"result":`+task+`}`)

		say(`{"jsonrpc":"2.0","method":"askQuestion","id":4}`,
			`{"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"params must be an object"}}`)
		say(`{"jsonrpc":"2.0","method":"askQuestion","params":{},"id":4}`,
			`{"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"question must be a non-empty string"}}`)
		say(`{"jsonrpc":"2.0","method":"askQuestion","params":{"question":7},"id":5}`,
			`{"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"question must be a non-empty string"}}`)
		say(`{"jsonrpc":"2.0","method":"askQuestion","params":{"question":"Why?","chatId":7},"id":6}`,
			`{"jsonrpc":"2.0","id":6,"error":{"code":-32602,"message":"chatId must be a string if provided"}}`)
		say(`{"jsonrpc":"2.0","method":"askQuestion","params":{"question":"Why?","chatId":"chat-123"},"id":7}`,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"Failed to answer question: q-1 has no answer yet; repeat the call to keep waiting"}}`)
		time.AfterFunc(10*time.Second, func() {
			if _, err := s.b.Answer(t.Context(), ada, 1, "Because."); err != nil {
				t.Error(err)
			}
		})
		say(`{"jsonrpc":"2.0","method":"askQuestion","params":{"question":"Why?","chatId":"chat-123"},"id":8}`,
			`{"jsonrpc":"2.0","id":8,"result":{"answer":"Because.","answeredBy":"ada","answeredAs":"person","chatId":"chat-123"}}`)
		qs, err := s.b.Questions(t.Context(), board.QuestionFilter{})
		if err != nil || len(qs) != 1 || qs[0].ChatID != "chat-123" || qs[0].Claim.Task.No != 1 {
			t.Errorf("the questions are %+v, %v", qs, err)
		}

		say(`{"jsonrpc":"2.0","method":"reportTaskDone","params":{"result":"x"},"id":9}`,
			`{"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"taskId must be a non-empty string"}}`)
		say(`{"jsonrpc":"2.0","method":"reportTaskDone","params":{"taskId":"web-9"},"id":10}`,
			`{"jsonrpc":"2.0","id":10,"error":{"code":-32602,"message":"Failed to report task done: web-9 was not handed out to this process, nor to an earlier one in this directory"}}`)
		done := `{"jsonrpc":"2.0","method":"reportTaskDone","params":{"taskId":"web-1","result":"Completed successfully"},"id":11}`
		say(done, `{"jsonrpc":"2.0","id":11,"result":{"success":true}}`)
		say(done, `{"jsonrpc":"2.0","id":11,"result":{"success":true}}`)
		say(`{"jsonrpc":"2.0","method":"getNextTask","id":12}`, `{"jsonrpc":"2.0","id":12,"result":null}`)
		d, err := s.b.Get(t.Context(), board.ID{Project: "web", No: 1}, 0)
		if err != nil || d.Task.Status != board.Done || d.Doc.Result.Summary != "Completed successfully" {
			t.Errorf("web-1 is %+v, %v", d.Task, err)
		}
		// The tools need a handshake, on the same pipe.
		say(`{"jsonrpc":"2.0","method":"tools/list","id":13}`,
			`{"jsonrpc":"2.0","id":13,"error":{"code":-32600,"message":"tools/list before initialize: begin with initialize, or put io.modelcontextprotocol/protocolVersion in _meta"}}`)
	})
}
